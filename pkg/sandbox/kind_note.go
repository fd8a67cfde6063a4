package sandbox

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
)

// kindNote is a file in a sandbox's directory: there are, or were, containers of it. It is written before the first.
const kindNote = "kind.json"

// kindNoted is what is in it.
type kindNoted struct {
	// Runtime is the command of the container runtime.
	Runtime string `json:"runtime"`
	// Image is that of the nodes, where volumes are directories.
	Image string `json:"image,omitempty"`
}

func (k *kindCluster) note(image string) error {
	n := kindNoted{Runtime: k.rt.Name()}
	if k.folders != "" {
		n.Image = image
	}
	text, err := json.Marshal(n)
	if err != nil {
		return err
	}
	return os.WriteFile(k.s.opts.Dir.Path(kindNote), append(text, '\n'), 0o600)
}

// readKindNote is the note in that directory; the zero value where there is none.
func readKindNote(dir string) (n kindNoted, err error) {
	text, err := os.ReadFile(filepath.Join(dir, kindNote))
	if errors.Is(err, fs.ErrNotExist) {
		return n, nil
	}
	if err != nil {
		return n, err
	}
	if err := json.Unmarshal(text, &n); err != nil {
		return n, fmt.Errorf("%s: %w", filepath.Join(dir, kindNote), err)
	}
	return n, nil
}

// KindRuntime is the container runtime with which the sandbox of that directory has had a cluster made; "" when it has not.
func KindRuntime(dir string) (string, error) {
	n, err := readKindNote(dir)
	return n.Runtime, err
}
