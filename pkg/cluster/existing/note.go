package existing

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/vsphere-sandbox/vsphere-sandbox/internal/atomicfile"
	"github.com/vsphere-sandbox/vsphere-sandbox/internal/private"
)

// noteName is the file of a sandbox's directory that says that a cluster has something of it. The kubeconfig beside it says
// which cluster.
const noteName = "cluster.json"

// Note is what is in it.
type Note struct {
	Name    string `json:"name"`
	Context string `json:"context"`
	// Beside: the sandbox is a process of this machine, and has no more in the cluster than [Cluster.RemoveBeside] removes.
	Beside bool `json:"beside,omitempty"`
}

// NotePath is where the note of a sandbox's directory is.
func NotePath(dir string) string { return filepath.Join(dir, noteName) }

// Leave writes the note, before the first object is made.
func Leave(dir string, n Note) error {
	text, err := json.Marshal(n)
	if err != nil {
		return err
	}
	return atomicfile.WriteFile(NotePath(dir), append(text, '\n'), 0o600)
}

// Unnote removes the note. A missing one is no error.
func Unnote(dir string) error {
	if err := os.Remove(NotePath(dir)); !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	return nil
}

// ReadNote returns the note, or nil if there is no file.
func ReadNote(dir string) (*Note, error) {
	text, err := private.ReadFile(NotePath(dir))
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	n := &Note{}
	if err := json.Unmarshal(text, n); err != nil {
		return nil, fmt.Errorf("%s: %w", NotePath(dir), err)
	}
	return n, nil
}
