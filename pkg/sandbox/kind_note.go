package sandbox

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/cluster/kind/runtime"
)

// kindNote is a file in a sandbox's directory: there are containers of it, or may be. It is written before the first, and goes
// when all that they have left is gone: a directory that has it stays.
const kindNote = "kind.json"

// kindNoted is what is in it.
type kindNoted struct {
	// Runtime is the command of the container runtime.
	Runtime string `json:"runtime"`
	// Endpoint is where its daemon answers, "" at its own default. Null: whichever daemon is the one then that is asked.
	Endpoint *string `json:"endpoint,omitempty"`
}

func (k *kindCluster) note() error {
	n := kindNoted{Runtime: k.rt.Name()}
	if at, fixed := k.rt.Endpoint(); fixed {
		n.Endpoint = &at
	}
	text, err := json.Marshal(n)
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
// not be gone, with the daemon that it was made by; nil when there is none.
func KindRuntime(dir string) (*runtime.Runtime, error) {
	text, err := os.ReadFile(filepath.Join(dir, kindNote))
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	var n kindNoted
	if err := json.Unmarshal(text, &n); err != nil {
		return nil, fmt.Errorf("%s: %w", filepath.Join(dir, kindNote), err)
	}
	switch {
	case n.Runtime == "":
		return nil, fmt.Errorf("%s: names no runtime", filepath.Join(dir, kindNote))
	case n.Endpoint == nil:
		return runtime.New(n.Runtime), nil
	}
	return runtime.At(n.Runtime, *n.Endpoint), nil
}
