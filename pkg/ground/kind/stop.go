package kind

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"time"

	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/cluster/kind"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/cluster/kind/machine/loop"
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
		ground.Within(ctx, kind.GiveUpTime, func(ctx context.Context) error { return g.Host.Wait(ctx, bootGroup) }),
		ground.Within(ctx, followTime, g.Host.StopPods),
		ground.Within(ctx, followTime, func(ctx context.Context) error { return g.Host.Wait(ctx, watchGroup) }),
		g.csi.close(),
	)
	if g.cluster == nil {
		return err
	}
	if g.kept() {
		return errors.Join(err, ground.Within(ctx, kind.DeleteTime, g.keepLogs), g.cluster.Close())
	}
	err = errors.Join(err, ground.Within(ctx, kind.DeleteTime, g.cluster.Delete), g.cluster.Close())
	if err == nil { // as long as there are containers they have them mounted
		err = ground.Within(ctx, kind.DeleteTime, g.removeFolders)
	}
	if err != nil {
		return &ground.LeftError{Err: err}
	}
	// A guest that did not end in time still detaches its disks in the background.
	if err := ground.Within(ctx, loopTime, g.reapDisks); err != nil {
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
