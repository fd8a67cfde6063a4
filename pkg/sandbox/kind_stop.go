package sandbox

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/cluster/kind"
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

// stop removes the cluster, which ends everything in it. Its error is a [LeftError] when not all of it is gone.
func (k *kindCluster) stop(ctx context.Context) error {
	ctx = context.WithoutCancel(ctx) // it bounds steps that take less
	// Each has a time of its own: what takes the whole of its does not keep the containers from being removed.
	err := errors.Join(
		within(ctx, kind.GiveUpTime, func(ctx context.Context) error { return k.s.background.end(ctx, kindBoot) }),
		within(ctx, stopTimeout, k.s.stopPods),
	)
	if k.cluster == nil {
		return err
	}
	if err = errors.Join(err, within(ctx, kind.DeleteTime, k.cluster.Delete), k.cluster.Close()); err != nil {
		return &LeftError{err}
	}
	return k.unnote()
}

// within does something that may take that long.
func within(ctx context.Context, limit time.Duration, do func(context.Context) error) error {
	ctx, cancel := context.WithTimeoutCause(ctx, limit, fmt.Errorf("not done after %s", limit))
	defer cancel()
	return do(ctx)
}
