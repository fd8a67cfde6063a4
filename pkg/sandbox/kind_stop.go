package sandbox

import (
	"context"
	"errors"
	"time"
)

// kindDeleteTime is how long it may take to remove the cluster, even on a busy machine.
const kindDeleteTime = time.Minute

// LeftError says that something of a sandbox is left outside of its directory: the directory is to stay, or nobody would know
// of it.
type LeftError struct{ Err error }

// Error is that of what could not be done.
func (e *LeftError) Error() string { return e.Err.Error() }

// Unwrap returns what could not be done.
func (e *LeftError) Unwrap() error { return e.Err }

// stop removes the cluster, which ends everything in it. Its error is a [LeftError] when not all of it is gone.
func (k *kindCluster) stop(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), kindDeleteTime)
	defer cancel()
	err := errors.Join(k.s.background.end(ctx, kindBoot), k.s.stopPods(ctx))
	if k.cluster == nil {
		return err
	}
	if err = errors.Join(err, k.cluster.Delete(ctx), k.cluster.Close()); err != nil {
		return &LeftError{err}
	}
	return k.unnote()
}
