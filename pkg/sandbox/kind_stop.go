package sandbox

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/cluster/kind"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/cluster/kind/machine/loop"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/sandbox/api"
)

// KindStopTime is how long a sandbox whose nodes are containers may take to end: the boot may be at the cluster still, which is
// deleted then, and other steps take their time as well.
const KindStopTime = kind.GiveUpTime + kind.DeleteTime + time.Minute

// LeftError says that something of a sandbox is left outside of its directory: the directory is to stay, or nobody would know
// of it.
type LeftError struct{ Err error }

// Error is that of what could not be done.
func (e *LeftError) Error() string { return e.Err.Error() }

// Unwrap returns what could not be done.
func (e *LeftError) Unwrap() error { return e.Err }

// stop removes the cluster, which ends everything in it; or keeps its nodes, when it did not come up and that was asked for. Its
// error is a [LeftError] when not all of it is gone that should be.
func (k *kindCluster) stop(ctx context.Context) error {
	ctx = context.WithoutCancel(ctx) // it bounds steps that take less
	// Each has a time of its own: what takes the whole of its does not keep the containers from being removed.
	err := errors.Join(
		within(ctx, kind.GiveUpTime, func(ctx context.Context) error { return k.s.background.End(ctx, kindBoot) }),
		within(ctx, stopTimeout, k.s.stopPods),
		k.csi.close(),
	)
	if k.cluster == nil {
		return err
	}
	if k.kept() {
		return errors.Join(err, within(ctx, kind.DeleteTime, k.keepLogs), k.cluster.Close())
	}
	err = errors.Join(err, within(ctx, kind.DeleteTime, k.cluster.Delete), k.cluster.Close())
	if err == nil { // as long as there are containers they have them mounted
		err = within(ctx, kind.DeleteTime, k.removeFolders)
	}
	if err != nil {
		return &LeftError{err}
	}
	// A machine that did not end in its time still takes its disks off, and nobody waits for it.
	if err := within(ctx, loopTime, k.reapDisks); err != nil {
		return &LeftError{err}
	}
	return k.unnote()
}

// A device may be held for loopPatience by what ends at the same time; all of them are given loopTime.
const (
	loopPatience = 5 * time.Second
	loopTime     = 30 * time.Second
)

// reapDisks gives loop devices back that are left when the containers are gone.
func (k *kindCluster) reapDisks(ctx context.Context) error {
	_, pinned, err := loop.Reap(ctx, k.s.opts.Dir.Path(), loopPatience)
	if err == nil && pinned > 0 {
		err = fmt.Errorf("%d loop devices are in use by somebody else: see losetup --list", pinned)
	}
	return err
}

// kept tells, of a sandbox that ends, whether its nodes are left as they are, for somebody to look at. The note of them stays.
func (k *kindCluster) kept() bool {
	k.s.mu.Lock()
	defer k.s.mu.Unlock()
	return k.s.opts.Cluster.Kind.Retain && k.s.phase == api.Stopping && k.s.readyAt.IsZero()
}

// keepLogs writes what the nodes have logged into the directory, unless Create has, which failed then.
func (k *kindCluster) keepLogs(ctx context.Context) error {
	k.s.mu.Lock()
	made := k.s.cluster != nil
	k.s.mu.Unlock()
	if !made {
		return nil
	}
	return k.cluster.Logs(ctx, k.s.opts.Dir.Path("logs", "kind"))
}

// removeFolders removes volumes that are directories.
func (k *kindCluster) removeFolders(ctx context.Context) error {
	return RemoveKindVolumes(ctx, k.s.opts.Dir.Path())
}

// within does something that may take that long.
func within(ctx context.Context, limit time.Duration, do func(context.Context) error) error {
	ctx, cancel := context.WithTimeoutCause(ctx, limit, fmt.Errorf("not done after %s", limit))
	defer cancel()
	return do(ctx)
}
