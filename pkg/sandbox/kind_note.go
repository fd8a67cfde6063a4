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
}

func (k *kindCluster) note() error {
	text, err := json.Marshal(kindNoted{Runtime: k.rt.Name()})
	if err != nil {
		return err
	}
	return os.WriteFile(k.s.opts.Dir.Path(kindNote), append(text, '\n'), 0o600)
}

// KindRuntime is the container runtime with which the sandbox of that directory has had a cluster made; "" when it has not.
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
