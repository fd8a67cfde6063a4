package clitest

import (
	"encoding/json"
	"fmt"
	"os"
	"strings"

	"github.com/vsphere-sandbox/vsphere-sandbox/internal/kubernetes/contract"
	"github.com/vsphere-sandbox/vsphere-sandbox/internal/kubernetes/programs"
	"github.com/vsphere-sandbox/vsphere-sandbox/internal/kubernetes/release"
)

// StandIn makes the test binary its own Kubernetes program, whose control plane ends at once with status 9: a boot fails there.
// Call it first in TestMain, which ends with that status if done is true.
func StandIn() (status int, done bool) {
	switch args := os.Args[1:]; {
	case strings.Join(args, " ") == contract.VersionCommand:
		err := json.NewEncoder(os.Stdout).Encode(contract.Info{Contract: contract.Version, Kubernetes: release.Default().Version})
		if err != nil {
			return 1, true
		}
		return 0, true
	case len(args) > 0 && args[0] == contract.ControlPlaneCommand:
		return 9, true
	}
	self, err := os.Executable()
	if err == nil {
		err = os.Setenv(programs.Env, self)
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1, true
	}
	return 0, false
}
