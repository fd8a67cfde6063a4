package program

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"path/filepath"
)

// Find returns the absolute path of the program to test. An error says that it has not been built.
func Find() (string, error) {
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
		return "", fmt.Errorf("no binary to test: %w (make build)", err)
	}
	return path, nil
}

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
