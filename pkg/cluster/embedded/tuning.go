package embedded

import (
	"path/filepath"

	"github.com/vsphere-sandbox/vsphere-sandbox/internal/kubernetes/contract"
)

// Tune applies t to the control plane, shortly after it returns.
func (c *Cluster) Tune(t contract.Tuning) error {
	if err := t.Write(c.tuning()); err != nil {
		return err
	}
	return c.notifier.notify()
}

func (c *Cluster) tuning() string { return filepath.Join(c.opts.Dir, "control-plane-tuning.json") }
