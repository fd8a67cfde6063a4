package main

import (
	"cmp"
	"fmt"
	"io"
	"path"
	"slices"
	"strings"
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
