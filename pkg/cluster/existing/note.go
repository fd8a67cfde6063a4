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

// noteName is the file in a sandbox's directory that records objects in a cluster, that of the kubeconfig beside it.
const noteName = "cluster.json"

// Note is the contents of that file.
type Note struct {
	Name    string `json:"name"`
	Context string `json:"context"`
	// Beside is set for a sandbox outside of the cluster: [Cluster.RemoveBeside] removes all its objects.
	Beside bool `json:"beside,omitempty"`
}

// NotePath returns the path of the note in a sandbox's directory.
func NotePath(dir string) string { return filepath.Join(dir, noteName) }

// Leave writes the note. Call it before the first object is created.
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
