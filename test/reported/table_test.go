package reported

import (
	"fmt"
	"io"
	"strings"
	"sync"
	"text/tabwriter"
)

// table is what came out, by report. Its methods may be called from any goroutine.
type table struct {
	mu  sync.Mutex
	out map[string]error
}

func (t *table) add(r report, err error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.out == nil {
		t.out = map[string]error{}
	}
	t.out[r.saw] = err
}

// print writes a line for each report that was tried, in the order of the phases.
func (t *table) print(to io.Writer, all []phase, theirs bool) {
	t.mu.Lock()
	defer t.mu.Unlock()
	out := tabwriter.NewWriter(to, 0, 0, 2, ' ', 0)
	defer out.Flush()
	for _, r := range reportsOf(all) {
		if err, tried := t.out[r.saw]; tried {
			fmt.Fprintf(out, "%s\t%s\t%s\n", strings.Join(r.issues, ", "), r.saw, verdict(err, theirs))
		}
	}
}

func verdict(err error, theirs bool) string {
	switch {
	case err != nil && theirs:
		return "reproduces the report: " + first(err)
	case err != nil:
		return "CAME BACK: " + first(err)
	case theirs:
		return "as here"
	}
	return "does not come back"
}

// first is the first line of an error.
func first(err error) string {
	text, _, _ := strings.Cut(err.Error(), "\n")
	if len(text) > 160 {
		text = text[:160] + "…"
	}
	return text
}
