package upstream

import (
	"os"
	"testing"
	"time"

	"github.com/vsphere-sandbox/vsphere-sandbox/test/program"
)

// The variables with upstream's releases: make upstream builds and sets them.
const (
	cloudProvider = "UPSTREAM_CPI" // the path of the cloud provider's binary
	driver        = "UPSTREAM_CSI" // the folder of the CSI driver's programs
)

// release returns the path in the variable of a release. Without one the test is skipped.
func release(t *testing.T, variable string) string {
	t.Helper()
	path := os.Getenv(variable)
	if path == "" {
		t.Skipf("no release of upstream: %s has the path of its programs (make upstream builds and sets it)", variable)
	}
	return path
}

// newHome returns a home for a sandbox with a release of upstream, and the path of that.
func newHome(t *testing.T, variable string) (h *program.Home, path string) {
	t.Helper()
	path = release(t, variable)
	binary, err := program.Find()
	if err != nil {
		t.Fatal(err)
	}
	h = program.NewHome(t, program.Options{Binary: binary, Patience: 5 * time.Minute})
	t.Cleanup(func() { h.End(h.State, h.Tmp) })
	return h, path
}
