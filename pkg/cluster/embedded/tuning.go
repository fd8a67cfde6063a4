package embedded

import (
	"errors"
	"io/fs"
	"path/filepath"
	"time"

	"github.com/vsphere-sandbox/vsphere-sandbox/internal/child"
)

// Tuning has the settings of a control plane that may change while it runs. It is passed as a file, [Config.Tuning],
// which the control plane follows. The file outlives it, so the settings also apply after a restart or a pause. The zero
// value changes nothing.
type Tuning struct {
	// EtcdDelay is the delay of etcd's responses to the API server.
	EtcdDelay time.Duration `json:"etcdDelay,omitempty"`
}

// ReadTuning reads the file; a missing one is the zero value.
func ReadTuning(path string) (Tuning, error) {
	t, err := child.ReadConfig[Tuning](path)
	if errors.Is(err, fs.ErrNotExist) {
		return t, nil
	}
	return t, err
}

// Tune applies t to the control plane, shortly after it returns.
func (c *Cluster) Tune(t Tuning) error {
	if err := child.WriteConfig(c.tuning(), t); err != nil {
		return err
	}
	return c.notifier.notify()
}

func (c *Cluster) tuning() string { return filepath.Join(c.opts.Dir, "control-plane-tuning.json") }
