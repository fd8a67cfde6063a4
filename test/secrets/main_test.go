package secrets

import (
	"fmt"
	"os"
	"testing"

	"github.com/vsphere-sandbox/vsphere-sandbox/test/program"
)

// binary is the program; set by TestMain and only read afterwards.
var binary string

func TestMain(m *testing.M) {
	var err error
	if binary, err = program.Find(); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	os.Exit(m.Run())
}
