package smoke

import (
	"os"
	"testing"

	"github.com/vsphere-sandbox/vsphere-sandbox/internal/cli/clitest"
)

func TestMain(m *testing.M) {
	if status, done := clitest.StandIn(); done {
		os.Exit(status)
	}
	os.Exit(m.Run())
}
