package parity

import (
	"fmt"
	"os"
	"strings"
	"testing"
)

// judge compares the nodes of the releases with ours, and fails for unexplained differences; in upstream's mode ours has
// none to explain.
func (r *result) judge(t *testing.T) {
	t.Helper()
	var strict *figures
	for i, s := range r.sides {
		if s.strict {
			strict = r.figures[i]
		}
	}
	for i, s := range r.sides {
		if !strings.HasPrefix(s.name, upstream) {
			continue
		}
		theirs := r.figures[i]
		same := true
		for _, d := range append(compare(r.figures[0].before, theirs.before), compare(r.figures[0].after, theirs.after)...) {
			same = false
			if why := explained(d); why != "" {
				fmt.Fprintf(os.Stdout, "- %s: %s: documented: %s\n", s.name, d, why)
			} else {
				t.Errorf("%s: %s: docs/provider.md does not explain it", s.name, d)
			}
		}
		if same {
			fmt.Fprintf(os.Stdout, "- %s: labels, addresses, providerIDs, types and taints are the same\n", s.name)
		}
		if strict == nil {
			continue
		}
		for _, d := range append(compare(strict.before, theirs.before), compare(strict.after, theirs.after)...) {
			t.Errorf("%s: %s: ours with --parity=upstream", s.name, d)
		}
	}
}
