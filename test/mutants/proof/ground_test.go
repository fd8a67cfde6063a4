package proof

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"syscall"
	"testing"
	"time"

	"github.com/vsphere-sandbox/vsphere-sandbox/internal/kubernetes/programs"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/scenario/report/document"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/scenario/result"
	"github.com/vsphere-sandbox/vsphere-sandbox/test/mutants"
	"github.com/vsphere-sandbox/vsphere-sandbox/test/program"
)

// The exit statuses of a run in which everything passed, and in which an expectation failed.
const (
	exitPassed = 0
	exitFailed = 3
)

// ground is what mutants are built from and run with.
type ground struct {
	root, binary string
	state        string // where the sandboxes are
}

// newGround skips the test where the program has not been built.
func newGround(t *testing.T) *ground {
	t.Helper()
	root, err := program.Root()
	if err != nil {
		t.Fatal(err)
	}
	g := &ground{root: root, state: t.TempDir()}
	if g.binary, err = program.Find(); err != nil {
		t.Skipf("the scenarios are run by the program, which is not there: %v (make mutants builds it)", err)
	}
	return g
}

// pair are the programs of a run: the sandbox, and the value of its --ccm.
type pair struct{ sandbox, ccm string }

func (g *ground) build(t *testing.T, m mutants.Mutant) pair {
	t.Helper()
	began := time.Now()
	path, err := m.Build(t.Context(), g.root, t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	t.Logf("built in %s", time.Since(began).Round(100*time.Millisecond))
	if m.OfSandbox() {
		return pair{path, "builtin"}
	}
	return pair{g.binary, path}
}

// run runs scenarios with two programs, in one run that boots what they need. They are read from their
// files: the program may have older ones in it.
func (g *ground) run(t *testing.T, with pair, failFast bool, names []string) document.Suite {
	t.Helper()
	args := []string{
		"--name", "mutant", "scenario", "run", "--trust", "-o", "json", "--ccm", with.ccm,
		"--patience", strconv.FormatFloat(*patience, 'g', -1, 64),
	}
	if failFast {
		args = append(args, "--fail-fast")
	}
	for _, name := range names {
		args = append(args, filepath.Join(g.root, mutants.Caught{Scenario: name}.Path()))
	}
	cmd := exec.CommandContext(t.Context(), with.sandbox, args...)
	cmd.Env = append(os.Environ(), "VSPHERE_SANDBOX_STATE="+g.state,
		programs.Env+"="+filepath.Join(filepath.Dir(g.binary), programs.Name))
	// It takes its sandbox down when it is interrupted.
	cmd.Cancel = func() error { return cmd.Process.Signal(syscall.SIGINT) }
	cmd.WaitDelay = time.Minute
	var out, said bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &said
	err := cmd.Run()
	t.Logf("%s", said.Bytes())
	var exit *exec.ExitError
	if err != nil && !errors.As(err, &exit) {
		t.Fatal(err)
	}
	var got document.Suite
	if err := json.Unmarshal(out.Bytes(), &got); err != nil {
		t.Fatalf("%v: results: %v", cmd, err)
	}
	if err := agrees(got.Verdict, cmd.ProcessState.ExitCode()); err != nil {
		t.Error(err)
	}
	return got
}

// agrees sees that a script, which looks at the exit status alone, would have known as well.
func agrees(v result.Verdict, exit int) error {
	if v == result.Passed && exit != exitPassed || v == result.Failed && exit != exitFailed {
		return fmt.Errorf("it is %s, and exit status %d does not say so", v, exit)
	}
	return nil
}

// of returns the result of one scenario.
func (g *ground) of(t *testing.T, s document.Suite, name string) document.Scenario {
	t.Helper()
	for _, got := range s.Scenarios {
		if got.File == filepath.Join(g.root, mutants.Caught{Scenario: name}.Path()) {
			return got
		}
	}
	t.Fatalf("%s was not run", name)
	return document.Scenario{}
}
