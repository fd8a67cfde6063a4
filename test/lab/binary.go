package lab

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"

	"github.com/vsphere-sandbox/vsphere-sandbox/test/program"
)

// ccmBinary builds our CCM, once in a lab, which takes seconds: it does not link Kubernetes itself. $VSPHERE_CCM_BIN
// names one that is there already.
func (l *Lab) ccmBinary() (string, error) {
	if l.binary != "" {
		return l.binary, nil
	}
	if path := os.Getenv("VSPHERE_CCM_BIN"); path != "" {
		path, err := filepath.Abs(path)
		l.binary = path
		return path, err
	}
	root, err := program.Root()
	if err != nil {
		return "", err
	}
	path := filepath.Join(l.Dir, "vsphere-cloud-controller-manager")
	build := exec.CommandContext(l.t.Context(), "go", "build", "-o", path, "./cmd/vsphere-cloud-controller-manager")
	build.Dir = root
	build.Env = append(os.Environ(), "CGO_ENABLED=0")
	if out, err := build.CombinedOutput(); err != nil {
		return "", fmt.Errorf("build of the CCM: %w\n%s", err, out)
	}
	l.binary = path
	return path, nil
}
