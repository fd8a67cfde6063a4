package up

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/vsphere-sandbox/vsphere-sandbox/internal/cli/clitest"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/topology"
	"github.com/vsphere-sandbox/vsphere-sandbox/scenarios"
)

func dryRun(t *testing.T, args ...string) string {
	t.Helper()
	e := clitest.NewEnv(nil)
	e.State.Dir = filepath.Join(t.TempDir(), "state")
	if r := e.Run(t.Context(), NewCmdUp(e.Deps, nil), append(args, "--dry-run")...); r.Exit != 0 {
		t.Fatalf("ended with %+v", r)
	}
	if e.Err.Len() > 0 {
		t.Errorf("said %q", e.Err)
	}
	if _, err := os.Stat(e.State.Dir); err == nil {
		t.Error("something was made")
	}
	return e.Out.String()
}

func TestPlan(t *testing.T) {
	for _, scenario := range scenarios.Names() {
		for format, args := range map[string][]string{"table": nil, "yaml": {"-o", "yaml"}, "json": {"-o", "json"}} {
			t.Run(scenario+"."+format, func(t *testing.T) {
				got := dryRun(t, append(args, scenario)...)
				if format != "json" { // which is the same as YAML
					clitest.Golden(t, scenario+"."+format, got)
				}
				if format == "table" {
					return
				}
				// The printed topology builds the same again.
				again, err := topology.Load("plan", []byte(got))
				if err != nil {
					t.Fatal(err)
				}
				want, err := scenarios.Load(scenario)
				if err != nil {
					t.Fatal(err)
				}
				if diff := cmp.Diff(want, again); diff != "" {
					t.Errorf("(-want +got):\n%s", diff)
				}
			})
		}
	}
}

func TestPlanAtAnotherSpeedAndWithoutNodes(t *testing.T) {
	path := filepath.Join(t.TempDir(), "empty.yaml")
	if err := os.WriteFile(path, []byte(strings.Replace(tiny, ", role: worker", "", 1)), 0o600); err != nil {
		t.Fatal(err)
	}
	clitest.Golden(t, "no-nodes.table", dryRun(t, path, "--speed", "1"))
}
