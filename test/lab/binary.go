package lab

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
)

const module = "module github.com/vsphere-sandbox/vsphere-sandbox\n"

// Root is the directory of this module, found from the working directory, which in a test is that of its package.
func Root() (string, error) {
	dir, err := os.Getwd()
	if err != nil {
		return "", err
	}
	for {
		if mod, err := os.ReadFile(filepath.Join(dir, "go.mod")); err == nil && bytes.HasPrefix(mod, []byte(module)) {
			return dir, nil
		}
		up := filepath.Dir(dir)
		if up == dir {
			return "", errors.New("working directory: outside the module")
		}
		dir = up
	}
}

// sandboxBinary is the built program, whose control plane this uses.
func sandboxBinary() (string, error) {
	path := os.Getenv("VSPHERE_SANDBOX_BIN")
	if path == "" {
		root, err := Root()
		if err != nil {
			return "", err
		}
		path = filepath.Join(root, "bin", "vsphere-sandbox")
	}
	path, err := filepath.Abs(path)
	if err != nil {
		return "", err
	}
	if _, err := os.Stat(path); err != nil {
		return "", fmt.Errorf("no binary: %w (make build)", err)
	}
	return path, nil
}

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
	root, err := Root()
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
