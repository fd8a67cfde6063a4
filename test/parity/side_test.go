package parity

import (
	"fmt"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// side is one cloud controller manager.
type side struct {
	name string
	path string // of its binary; ours when empty
	args []string
	// strict says that no difference from upstream is explained: it was told to choose as upstream does.
	strict bool
}

const upstream = "upstream "

func ours() side { return side{name: "ours"} }

func oursLikeUpstream() side {
	return side{name: "ours, --parity=upstream", args: []string{"--parity=upstream"}, strict: true}
}

// releases are the sides of the releases asked for, built where they have not been.
func releases() ([]side, error) {
	var all []side
	for _, version := range strings.Split(*versions, ",") {
		build := exec.Command("go", "-C", "../../hack/upstream", "run", ".", version)
		out, err := build.Output()
		if err != nil {
			if e, ok := err.(*exec.ExitError); ok {
				return nil, fmt.Errorf("upstream %s: %w\n%s", version, err, e.Stderr)
			}
			return nil, fmt.Errorf("upstream %s: %w", version, err)
		}
		all = append(all, side{name: upstream + version, path: strings.TrimSpace(string(out))})
	}
	return all, nil
}

// buildOurs builds our cloud controller manager once, for all labs: the build is no part of what is timed.
func buildOurs(t *testing.T) {
	t.Helper()
	path := filepath.Join(t.TempDir(), "vsphere-cloud-controller-manager")
	out, err := exec.Command("go", "build", "-o", path, "../../cmd/vsphere-cloud-controller-manager").CombinedOutput()
	if err != nil {
		t.Fatalf("build of our cloud controller manager: %v\n%s", err, out)
	}
	t.Setenv("VSPHERE_CCM_BIN", path)
}
