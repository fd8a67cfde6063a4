package main

import (
	"bytes"
	"cmp"
	"fmt"
	"io"
	"path"
	"regexp"
	"slices"
	"strings"
	"sync"
	"time"
)

const (
	// worth is how long a package takes at least to get a line of its own in the table, and most how many of a suite do.
	worth = 15 * time.Second
	most  = 8
	// named is how many failures of a suite are named.
	named = 20
)

// table prints what was run: a line per suite, its slowest packages, and what failed in it.
func table(w io.Writer, all []suite, took time.Duration) {
	fmt.Fprintf(w, "\n%-28s  %-11s  %8s\n", "suite", "result", "time")
	for _, s := range all {
		fmt.Fprintf(w, "%-28s  %-11s  %8s\n", s.name, s.result, short(s.took))
		for _, p := range slowest(s.tests.packages) {
			fmt.Fprintf(w, "  %-26s  %-11s  %8s\n", shortened(p.name), "", short(p.took))
		}
		for i, f := range s.tests.failures {
			if i == named {
				fmt.Fprintf(w, "  and %d more\n", len(s.tests.failures)-named)
				break
			}
			fmt.Fprintf(w, "  failed: %s\n", f)
		}
	}
	fmt.Fprintf(w, "%-28s  %-11s  %8s\n", "in all", "", short(took))
}

func slowest(all []timed) []timed {
	var slow []timed
	for _, p := range all {
		if p.took >= worth {
			slow = append(slow, p)
		}
	}
	slices.SortStableFunc(slow, func(a, b timed) int { return cmp.Compare(b.took, a.took) })
	return slow[:min(len(slow), most)]
}

// shortened is a package without the module before it.
func shortened(name string) string {
	if _, dir, cut := strings.Cut(name, "/vsphere-sandbox/vsphere-sandbox/"); cut {
		return dir
	}
	return path.Base(name)
}

func short(d time.Duration) string {
	d = d.Round(time.Second)
	return fmt.Sprintf("%d:%02d", d/time.Minute, d%time.Minute/time.Second)
}

// record is a writer that keeps what lines of "go test" say: which tests and packages failed, and how long packages took.
// The zero value is ready.
type record struct {
	rest     []byte
	failures []string
	packages []timed
}

// timed is a package of which go test printed a time.
type timed struct {
	name string
	took time.Duration
}

var (
	failedTest   = regexp.MustCompile(`^\s*--- FAIL: (\S+)`)
	endedPackage = regexp.MustCompile(`^(ok|FAIL)\s+(\S+)\s+([0-9.]+s|\[[a-z ]+\]|\(cached\))`)
)

// Write takes the lines that are complete.
func (r *record) Write(p []byte) (int, error) {
	r.rest = append(r.rest, p...)
	for {
		line, rest, whole := bytes.Cut(r.rest, []byte("\n"))
		if !whole {
			return len(p), nil
		}
		r.line(line)
		r.rest = slices.Clone(rest)
	}
}

func (r *record) line(line []byte) {
	if m := failedTest.FindSubmatch(line); m != nil {
		r.failures = append(r.failures, string(m[1]))
		return
	}
	m := endedPackage.FindSubmatch(line)
	if m == nil {
		return
	}
	name := string(m[2])
	if string(m[1]) == "FAIL" {
		r.failures = append(r.failures, name)
	}
	if took, err := time.ParseDuration(string(m[3])); err == nil {
		r.packages = append(r.packages, timed{name, took})
	}
}

// watched passes output on and remembers when there was some.
type watched struct {
	out io.Writer

	mu   sync.Mutex
	last time.Time
}

func (w *watched) Write(p []byte) (int, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.last = time.Now()
	return w.out.Write(p)
}

// watch prints a line whenever there was no output for that long, until the suite has ended.
func (w *watched) watch(ended <-chan struct{}, name string, quiet time.Duration) {
	began := time.Now()
	tick := time.NewTicker(quiet)
	defer tick.Stop()
	for {
		select {
		case <-ended:
			return
		case <-tick.C:
		}
		w.mu.Lock()
		silent := time.Since(w.last) >= quiet
		w.mu.Unlock()
		if silent {
			_, _ = io.WriteString(w, "   "+name+" runs for "+short(time.Since(began))+"\n")
		}
	}
}
