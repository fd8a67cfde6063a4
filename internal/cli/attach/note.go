package attach

import (
	"context"
	"errors"
	"fmt"
	"os"

	"github.com/vsphere-sandbox/vsphere-sandbox/internal/cli/report"
	"github.com/vsphere-sandbox/vsphere-sandbox/internal/instance"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/cluster/existing"
)

// Placed reports whether the sandbox of an instance directory has something in a cluster that was there before.
func Placed(dir string) bool {
	_, err := os.Stat(existing.NotePath(dir))
	return err == nil
}

// Sweep removes from its cluster what a sandbox brought there whose process was killed. It does nothing for one that runs, that has no note, or that does not exist. It comes before
// [instance.Reap] and [instance.Create], which remove the note.
func Sweep(ctx context.Context, root, name string, say func(string)) error {
	dir, err := instance.Open(root, name)
	if errors.As(err, new(instance.ErrNotFound)) {
		return nil
	}
	if err != nil {
		return err
	}
	if _, running := dir.Running(); running {
		return nil
	}
	n, err := existing.ReadNote(dir.Path())
	if err != nil || n == nil {
		return err
	}
	temp, err := os.MkdirTemp("", "vsphere-sandbox-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(temp)
	c, err := existing.Open(existing.Target{Kubeconfig: dir.Path("kubeconfig")}, temp)
	if err == nil {
		_, err = c.Reach(ctx)
	}
	if err != nil {
		e := Explain(err)
		if known := (*report.Error)(nil); errors.As(e, &known) {
			known.Message = fmt.Sprintf("the cluster of context %q may have something of sandbox %q left: %s", n.Context, n.Name, known.Message)
			known.Try = "vsphere-sandbox down --name " + n.Name + "   # again, when the cluster answers\nrm " + existing.NotePath(dir.Path()) + "   # when there is no such cluster any more"
		}
		return e
	}
	remove := c.Remove
	if n.Beside {
		remove = c.RemoveBeside
	}
	if err := remove(ctx, n.Name, say); err != nil {
		return Explain(err)
	}
	// It may be that nothing else of the directory goes: the note would have this done again.
	return existing.Unnote(dir.Path())
}

// Explain makes errors of a cluster ones that commands end with; others, and nil, are returned as they are.
func Explain(err error) error { return report.Coded(err, report.Prerequisite, nil) }
