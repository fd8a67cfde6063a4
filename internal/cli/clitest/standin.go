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
// Call it first in TestMain.
func StandIn() {
	switch args := os.Args[1:]; {
	case strings.Join(args, " ") == contract.VersionCommand:
		err := json.NewEncoder(os.Stdout).Encode(contract.Info{Contract: contract.Version, Kubernetes: release.Default().Version})
		if err != nil {
			os.Exit(1)
		}
		os.Exit(0)
	case len(args) > 0 && args[0] == contract.ControlPlaneCommand:
		os.Exit(9)
	}
	self, err := os.Executable()
	if err == nil {
		err = os.Setenv(programs.Env, self)
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}
