package mutants

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path"
	"path/filepath"
)

// program returns the package that is built: the provider alone, which links in seconds, unless the sandbox plays it.
func (m Mutant) program() string {
	if m.OfSandbox() {
		return "./cmd/vsphere-sandbox"
	}
	return "./cmd/vsphere-cloud-controller-manager"
}

// Build builds the mutant of the module at root, an absolute path, into dir, and returns where it is. The zero Mutant is
// the provider as it is.
func (m Mutant) Build(ctx context.Context, root, dir string) (string, error) {
	out := filepath.Join(dir, path.Base(m.program()))
	args := []string{"build", "-o", out}
	if m.File != "" {
		overlay, err := m.overlay(root, dir)
		if err != nil {
			return "", err
		}
		args = append(args, "-overlay", overlay)
	}
	cmd := exec.CommandContext(ctx, "go", append(args, m.program())...)
	cmd.Dir = root
	cmd.Env = append(os.Environ(), "CGO_ENABLED=0")
	if said, err := cmd.CombinedOutput(); err != nil {
		return "", fmt.Errorf("mutant %s: build: %w\n%s", m.Name, err, said)
	}
	return out, nil
}

// overlay writes the changed file, and the overlay file for the Go tool.
func (m Mutant) overlay(root, dir string) (string, error) {
	original := filepath.Join(root, filepath.FromSlash(m.File))
	source, err := os.ReadFile(original)
	if err != nil {
		return "", fmt.Errorf("mutant %s: %w", m.Name, err)
	}
	changed, err := m.Apply(string(source))
	if err != nil {
		return "", err
	}
	file := filepath.Join(dir, "mutant.go")
	if err := os.WriteFile(file, []byte(changed), 0o600); err != nil {
		return "", err
	}
	data, err := json.Marshal(map[string]map[string]string{"Replace": {original: file}})
	if err != nil {
		return "", err
	}
	list := filepath.Join(dir, "overlay.json")
	return list, os.WriteFile(list, data, 0o600)
}
