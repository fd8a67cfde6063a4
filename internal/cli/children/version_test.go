package children

import (
	"bytes"
	"strings"
	"testing"

	"github.com/vsphere-sandbox/vsphere-sandbox/internal/build"
)

// The built-in cloud controller manager is a release of ours, whichever Kubernetes libraries it is built with.
func TestVersionOfCCM(t *testing.T) {
	cmd := NewCmdCCM()
	var out bytes.Buffer
	cmd.SetOut(&out)
	cmd.SetArgs([]string{"--version"})
	if err := cmd.Execute(); err != nil || !strings.HasPrefix(out.String(), "vsphere-cloud-controller-manager "+build.Version()+" (Kubernetes ") {
		t.Errorf("%q, %v", out.String(), err)
	}
}
