package scenario

import (
	"os"
	"testing"

	"github.com/vsphere-sandbox/vsphere-sandbox/internal/cli/clitest"
)

func TestMain(m *testing.M) {
	clitest.StandIn()
	os.Exit(m.Run())
}
