package parity

import (
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	programs "github.com/vsphere-sandbox/vsphere-sandbox/internal/program"
)

// side is one cloud controller manager.
type side struct {
	name string
	path string // of its binary; ours when empty
	args []string
	// strict means that no difference from upstream is explained: it runs in upstream's mode.
	strict bool
}

const upstream = "upstream "

func ours() side { return side{name: "ours"} }

func oursLikeUpstream() side {
	return side{name: "ours, --parity=upstream", args: []string{"--parity=upstream"}, strict: true}
}

// releases are the sides of the releases asked for, built where they have not been.
func releases(t *testing.T) ([]side, error) {
	t.Helper()
	var all []side
	for version := range strings.SplitSeq(*versions, ",") {
		source, err := programs.CCM.Parse("module:" + version)
		if err != nil {
			return nil, err
		}
		program, err := source.Resolve(t.Context(), programs.Options{Progress: func(said string) { t.Log(said) }})
		if err != nil {
			return nil, err
		}
		all = append(all, side{name: upstream + version, path: program.Path})
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
