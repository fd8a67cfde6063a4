package sandbox

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
)

// kindNote is a file in a sandbox's directory: there are containers of it, or may be. It is written before the first, and goes
// when all that they have left is gone: a directory that has it stays.
const kindNote = "kind.json"

// kindNoted is what is in it.
type kindNoted struct {
	// Runtime is the command of the container runtime.
	Runtime string `json:"runtime"`
}

func (k *kindCluster) note() error {
	text, err := json.Marshal(kindNoted{Runtime: k.rt.Name()})
	if err != nil {
		return err
	}
	return os.WriteFile(k.s.opts.Dir.Path(kindNote), append(text, '\n'), 0o600)
}

func (k *kindCluster) unnote() error {
	err := os.Remove(k.s.opts.Dir.Path(kindNote))
	if errors.Is(err, fs.ErrNotExist) {
		return nil // it did not come to that
	}
	return err
}

// KindRuntime is the container runtime with which the sandbox of that directory has had a cluster made that may
// not be gone; "" when there is none.
func KindRuntime(dir string) (string, error) {
	text, err := os.ReadFile(filepath.Join(dir, kindNote))
	if errors.Is(err, fs.ErrNotExist) {
		return "", nil
	}
	if err != nil {
		return "", err
	}
	var n kindNoted
	if err := json.Unmarshal(text, &n); err != nil {
		return "", fmt.Errorf("%s: %w", filepath.Join(dir, kindNote), err)
	}
	return n.Runtime, nil
}
