package kind

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/vsphere-sandbox/vsphere-sandbox/internal/atomicfile"
	"github.com/vsphere-sandbox/vsphere-sandbox/internal/private"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/cluster/kind/runtime"
)

// noteFile is a file in a sandbox's directory: there are containers of it, or may be. It is written before the first, and goes
// when all that they have left is gone: a directory that has it stays.
const noteFile = "kind.json"

// noted is what is in it.
type noted struct {
	// Runtime is the command of the container runtime.
	Runtime string `json:"runtime"`
	// Endpoint is where its daemon answers, "" at its own default. Null: whichever daemon is the one then that is asked.
	Endpoint *string `json:"endpoint,omitempty"`
	// Image is that of the nodes, where volumes are directories.
	Image string `json:"image,omitempty"`
}

func (g *Ground) note(image string) error {
	n := noted{Runtime: g.rt.Name()}
	if at, fixed := g.rt.Endpoint(); fixed {
		n.Endpoint = &at
	}
	if g.folders != "" {
		n.Image = image
	}
	text, err := json.Marshal(n)
	if err != nil {
		return err
	}
	return atomicfile.WriteFile(filepath.Join(g.Dir, noteFile), append(text, '\n'), 0o600)
}

func (g *Ground) unnote() error { return Forget(g.Dir) }

// Forget removes the note in a sandbox's directory, when nothing of its cluster is left. A missing note is not an
// error.
func Forget(dir string) error {
	err := os.Remove(filepath.Join(dir, noteFile))
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	return err
}

// readNote returns the note in that directory; the zero value if it is missing.
func readNote(dir string) (n noted, err error) {
	text, err := private.ReadFile(filepath.Join(dir, noteFile))
	if errors.Is(err, fs.ErrNotExist) {
		return n, nil
	}
	if err != nil {
		return n, err
	}
	if err := json.Unmarshal(text, &n); err != nil {
		return n, fmt.Errorf("%s: %w", filepath.Join(dir, noteFile), err)
	}
	if n.Runtime == "" {
		return n, fmt.Errorf("%s: names no runtime", filepath.Join(dir, noteFile))
	}
	return n, nil
}

// runtime is the one that is noted, with its daemon.
func (n noted) runtime() *runtime.Runtime {
	if n.Endpoint == nil {
		return runtime.New(n.Runtime)
	}
	return runtime.At(n.Runtime, *n.Endpoint)
}

// Runtime returns the container runtime, with its daemon, with which the sandbox of that directory created a cluster that
// may still exist; nil without one.
func Runtime(dir string) (*runtime.Runtime, error) {
	n, err := readNote(dir)
	if err != nil || n.Runtime == "" {
		return nil, err
	}
	return n.runtime(), nil
}
