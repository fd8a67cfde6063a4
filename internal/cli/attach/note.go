package attach

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/vsphere-sandbox/vsphere-sandbox/internal/cli/report"
	"github.com/vsphere-sandbox/vsphere-sandbox/internal/instance"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/cluster/existing"
)

// noteName is the file that says that a cluster has something of a sandbox. The kubeconfig beside it says which cluster.
const noteName = "cluster.json"

// note is what is in it.
type note struct {
	Name    string `json:"name"`
	Context string `json:"context"`
}

// Placed tells whether the sandbox of an instance directory has something in a cluster that was there before.
func Placed(dir string) bool {
	_, err := os.Stat(filepath.Join(dir, noteName))
	return err == nil
}

// leave writes the note, before the first object is made.
func leave(dir *instance.Dir, n note) error {
	text, err := json.Marshal(n)
	if err != nil {
		return err
	}
	return os.WriteFile(dir.Path(noteName), append(text, '\n'), 0o600)
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
	text, err := os.ReadFile(dir.Path(noteName))
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	var n note
	if err := json.Unmarshal(text, &n); err != nil {
		return fmt.Errorf("%s: %w", dir.Path(noteName), err)
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
		e := explain(err)
		if known := (*report.Error)(nil); errors.As(e, &known) {
			known.Message = fmt.Sprintf("the cluster of context %q may have something of sandbox %q left: %s", n.Context, n.Name, known.Message)
			known.Try = "vsphere-sandbox down --name " + n.Name + "   # again, when the cluster answers\nrm " + dir.Path(noteName) + "   # when there is no such cluster any more"
		}
		return e
	}
	if err := c.Remove(ctx, n.Name, say); err != nil {
		return explain(err)
	}
	// It may be that nothing else of the directory goes: the note would have this done again.
	return os.Remove(dir.Path(noteName))
}

// explain makes errors of a cluster ones that commands end with.
func explain(err error) error {
	var e *existing.Error
	if !errors.As(err, &e) {
		return err
	}
	return &report.Error{Code: e.Code, Message: e.Message, Try: e.Try, Err: e.Err, Exit: report.Prerequisite}
}
