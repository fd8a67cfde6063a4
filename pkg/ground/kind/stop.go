package kind

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"time"

	"github.com/vsphere-sandbox/vsphere-sandbox/internal/atomicfile"
	"github.com/vsphere-sandbox/vsphere-sandbox/internal/private"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/cluster/kind"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/cluster/kind/guest/loop"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/cluster/kind/runtime"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/ground"
)

// StopTime is how long a sandbox whose nodes are containers may take to end: the boot may be at the cluster still, which is
// deleted then, and other steps take their time as well.
const StopTime = kind.GiveUpTime + kind.DeleteTime + time.Minute

// stop removes the cluster, which ends everything in it; or keeps its nodes, when it did not come up and that was asked for. Its
// error is a [ground.LeftError] when not all of it is gone that should be.
func (g *Ground) stop(ctx context.Context) error {
	ctx = context.WithoutCancel(ctx) // it bounds steps that take less
	// Each has a separate timeout: one that runs out does not keep the containers from being removed.
	err := errors.Join(
		ground.WithTimeout(ctx, kind.GiveUpTime, func(ctx context.Context) error { return g.Host.Wait(ctx, bootGroup) }),
		ground.WithTimeout(ctx, followTime, g.Host.StopPods),
		ground.WithTimeout(ctx, followTime, func(ctx context.Context) error { return g.Host.Wait(ctx, watchGroup) }),
		g.csi.close(),
	)
	if g.cluster == nil {
		return err
	}
	if g.kept() {
		return errors.Join(err, ground.WithTimeout(ctx, kind.DeleteTime, g.keepLogs), g.cluster.Close())
	}
	err = errors.Join(err, ground.WithTimeout(ctx, kind.DeleteTime, g.cluster.Delete), g.cluster.Close())
	if err == nil { // as long as there are containers they have them mounted
		err = ground.WithTimeout(ctx, kind.DeleteTime, g.removeFolders)
	}
	if err != nil {
		return &ground.LeftError{Err: err}
	}
	// A guest that did not end in time still detaches its disks in the background.
	if err := ground.WithTimeout(ctx, loopTime, g.reapDisks); err != nil {
		return &ground.LeftError{Err: err}
	}
	return g.unnote()
}

// followTime is how long it may take to end what follows pods and containers.
const followTime = 5 * time.Second

// A device may be held for loopPatience by what ends at the same time; all of them are given loopTime.
const (
	loopPatience = 5 * time.Second
	loopTime     = 30 * time.Second
)

// reapDisks gives loop devices back that are left when the containers are gone.
func (g *Ground) reapDisks(ctx context.Context) error {
	_, pinned, err := loop.Reap(ctx, g.Dir, loopPatience)
	if err == nil && pinned > 0 {
		err = fmt.Errorf("%d loop devices are in use by another process: see losetup --list", pinned)
	}
	return err
}

// kept reports whether the nodes of a failed boot stay for the user to inspect. Their note stays too.
func (g *Ground) kept() bool { return g.Retain && g.Host.BootFailed() }

// keepLogs writes what the nodes have logged into the directory, unless Create has, which failed then.
func (g *Ground) keepLogs(ctx context.Context) error {
	if !g.served {
		return nil
	}
	return g.cluster.Logs(ctx, filepath.Join(g.Dir, "logs", "kind"))
}

// removeFolders removes volumes that are directories.
func (g *Ground) removeFolders(ctx context.Context) error {
	return RemoveVolumes(ctx, g.Dir)
}

// noteFile is a file in a sandbox's directory: there are containers of it, or may be. It is written before the first, and goes
// when all that they have left is gone: a directory that has it stays.
const noteFile = "kind.json"

// noted is what is in it.
type noted struct {
	// Runtime is the command of the container runtime.
	Runtime string `json:"runtime"`
	// Endpoint is where its daemon answers, "" at its own default. Null: whichever daemon is the one then that is asked.
	Endpoint *string `json:"endpoint,omitempty"`
	// Image is that of the nodes, where volumes or shares of files are directories.
	Image string `json:"image,omitempty"`
}

func (g *Ground) note(image string) error {
	n := noted{Runtime: g.rt.Name()}
	if at, fixed := g.rt.Endpoint(); fixed {
		n.Endpoint = &at
	}
	if g.shared() != "" {
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
