package e2e

import (
	"os"
	"syscall"
	"testing"

	"github.com/vsphere-sandbox/vsphere-sandbox/test/program"
)

// Set up by TestMain and only read afterwards.
var (
	binary string              // the program, where the user of the tests can run it
	as     *syscall.Credential // the user to run it as; nil for the current one
)

func TestMain(m *testing.M) { os.Exit(program.Main(m, &binary, &as)) }
