package smoke

import (
	"context"
	"fmt"
	"regexp"
	"strings"

	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/scenario/result"
)

// checkVersion has the program say which version it is, which has to be the one that its source names.
func (r *run) checkVersion(ctx context.Context) result.Scenario {
	c := r.begin(versionCheck, "the program says which version it is: the one that its source names", 1)
	c.step(ctx, "run", "the program with --version", func(ctx context.Context) (string, error) {
		said, err := r.o.Version(ctx, r.o.CCM)
		if err != nil {
			return "", err
		}
		return judgeVersion(r.o.CCM, said)
	})
	return c.end()
}

var versionPattern = regexp.MustCompile(`v[0-9]+\.[0-9]+\.[0-9]+[0-9A-Za-z.+-]*`)

// judgeVersion compares what a program says with what its source does. Upstream's releases have their version put in by
// the linker (make: -X main.version), so that one which is built from its module alone has none to say.
func judgeVersion(c CCM, said string) (string, error) {
	said = strings.TrimSpace(said)
	is := versionPattern.FindString(said)
	switch {
	case is == "" && strings.HasPrefix(c.Source, "module:"):
		return "", errSkip{fmt.Sprintf("says %q: the version is put in by upstream's make, not by the module", said)}
	case is == "":
		return "", errNot{fmt.Sprintf("says %q, which is no version", said)}
	case c.Version == "":
		return "says " + is, nil
	case is != c.Version:
		return "", errNot{fmt.Sprintf("says %s, its source says %s", is, c.Version)}
	}
	return "says " + is + ", as its source does", nil
}
