package root

import (
	"context"
	"errors"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/vsphere-sandbox/vsphere-sandbox/internal/cli/clitest"
	"github.com/vsphere-sandbox/vsphere-sandbox/internal/cli/command"
	"github.com/vsphere-sandbox/vsphere-sandbox/internal/cli/report"
)

// remains is a state directory with what cannot be ended beside what can. Nothing may be removed from it.
type remains struct{ command.Sandboxes }

func (remains) ReapProcesses(context.Context) ([]string, error) {
	return []string{`sandbox "dead" crashed`}, errors.New("stuck: permission denied")
}

func (remains) Reap(context.Context) ([]string, error) {
	panic("what a crashed sandbox left is removed")
}

// What crashed sandboxes have left is announced, and nothing else: want is all that is said.
func TestTidy(t *testing.T) {
	for name, tc := range map[string]struct {
		args      string
		sandboxes command.Sandboxes
		exit      int
		want      string
	}{
		"nothing is left": {args: "fail", sandboxes: &clitest.Sandboxes{}},
		"something is": {args: "fail", sandboxes: remains{&clitest.Sandboxes{}}, want: `sandbox "dead" crashed
what a sandbox left that crashed could not be ended: stuck: permission denied
`},
		"the help does not look": {args: "help", sandboxes: remains{&clitest.Sandboxes{}}},
		"there is no place":      {args: "fail", sandboxes: &clitest.Sandboxes{Err: errors.New("there is no place for sandboxes")}},
		"there is no place, and one is needed": {
			args: "get nodes", sandboxes: &clitest.Sandboxes{Err: &report.Error{Message: "there is no place for sandboxes", Exit: report.Prerequisite}},
			exit: report.Prerequisite, want: "error: there is no place for sandboxes\n",
		},
	} {
		t.Run(name, func(t *testing.T) {
			e := clitest.NewEnv(nil)
			e.Deps.Sandboxes = tc.sandboxes
			if exit := execute(t, e, strings.Fields(tc.args)...); exit != tc.exit {
				t.Errorf("exit status %d, want %d", exit, tc.exit)
			}
			if d := cmp.Diff(tc.want, e.Err.String()); d != "" {
				t.Error(d)
			}
		})
	}
}
