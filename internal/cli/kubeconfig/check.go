package kubeconfig

import (
	"fmt"
	"os"

	"github.com/vsphere-sandbox/vsphere-sandbox/internal/cli/command"
	"github.com/vsphere-sandbox/vsphere-sandbox/internal/cli/report"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/sandbox/api"
)

// Check returns an error of code unavailable while a sandbox has no kubeconfig: until its API server is up.
func Check(s api.Status) error {
	if s.Kubeconfig != "" {
		if _, err := os.Stat(s.Kubeconfig); err == nil || !os.IsNotExist(err) {
			return err
		}
	}
	if s.Phase == api.Ready && s.Server == "" {
		return &report.Error{
			Code: "unavailable", Message: fmt.Sprintf("sandbox %q has vCenters only, no cluster", s.Name), Try: command.Program + " up",
		}
	}
	return &report.Error{
		Code: "unavailable", Message: fmt.Sprintf("sandbox %q has no kubeconfig yet", s.Name), Try: command.Program + " wait --for=ready",
	}
}
