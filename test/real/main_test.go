package real

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"github.com/vsphere-sandbox/vsphere-sandbox/internal/cli/govc"
	"github.com/vsphere-sandbox/vsphere-sandbox/test/program"
)

// asGovc in the environment makes the test's binary be govc.
const asGovc = "SANDBOX_TEST_AS_GOVC"

// Set up by TestMain and only read afterwards.
var (
	binary   string // the program
	stocksim string // the stand-in
)

func TestMain(m *testing.M) {
	if os.Getenv(asGovc) != "" {
		os.Exit(govc.Main(os.Args[1:]))
	}
	code, err := run(m)
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		code = 1
	}
	os.Exit(code)
}

func run(m *testing.M) (int, error) {
	var err error
	if binary, err = program.Find(); err != nil {
		return 0, err
	}
	if stocksim = os.Getenv("VSPHERE_SANDBOX_STOCKSIM"); stocksim == "" {
		dir, err := os.MkdirTemp("", "vsphere-sandbox-real-")
		if err != nil {
			return 0, err
		}
		defer os.RemoveAll(dir)
		stocksim = filepath.Join(dir, "stocksim")
		if out, err := exec.Command("go", "build", "-o", stocksim, "../../hack/stocksim").CombinedOutput(); err != nil {
			return 0, fmt.Errorf("build stocksim: %w\n%s", err, out)
		}
	}
	return m.Run(), nil
}
