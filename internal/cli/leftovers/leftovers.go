// Package leftovers takes back what a sandbox whose process was killed has left outside its directory, which package
// instance cannot know of: containers, devices, objects of a cluster that was there before, writes to vCenters that are not
// ours. It comes before the directory is removed, for that says what there is.
//
// Floor 5.
package leftovers

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"strings"
	"time"

	"github.com/vsphere-sandbox/vsphere-sandbox/internal/cli/attach"
	"github.com/vsphere-sandbox/vsphere-sandbox/internal/cli/command"
	"github.com/vsphere-sandbox/vsphere-sandbox/internal/cli/report"
	"github.com/vsphere-sandbox/vsphere-sandbox/internal/cli/vcenterconfig"
	"github.com/vsphere-sandbox/vsphere-sandbox/internal/instance"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/cluster/kind"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/cluster/kind/guest/loop"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/ground"
	kindground "github.com/vsphere-sandbox/vsphere-sandbox/pkg/ground/kind"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/sandbox/vcenters/real"
)

// patience is how long a device may be held by what ends at the same time.
const patience = 5 * time.Second

// sweepTime limits the cleanup after a dead sandbox: a cluster may be large, and the user of a command waits for it.
const sweepTime = 3 * time.Minute

// Sweep cleans up what the dead sandbox of that name has left, and calls say for each part. It does nothing for one that
// runs, or that does not exist. A [ground.LeftError] means that something is left: the directory must stay.
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
	ctx, cancel := context.WithTimeoutCause(ctx, sweepTime, fmt.Errorf("not done after %s", sweepTime))
	defer cancel()
	if err = errors.Join(attach.Sweep(ctx, root, name, say), containers(ctx, dir, say), devices(ctx, dir, say)); err != nil {
		return &ground.LeftError{Err: err}
	}
	return nil
}

// containers removes those of a cluster of kind's.
func containers(ctx context.Context, dir *instance.Dir, say func(string)) error {
	with, err := kindground.Runtime(dir.Path())
	if err != nil || with == nil {
		return err
	}
	if err := with.Answer(ctx); err != nil { // soon: one that hangs would have the whole time
		return fmt.Errorf("sandbox %q: its containers are left: %w", dir.Name(), err)
	}
	removed, err := kind.Reap(ctx, with, dir.Name(), dir.Path())
	if err != nil {
		return fmt.Errorf("sandbox %q: its containers are left: %w", dir.Name(), err)
	}
	if len(removed) > 0 {
		say(fmt.Sprintf("removed %d containers", len(removed)))
	}
	if err := kindground.RemoveVolumes(ctx, dir.Path()); err != nil {
		return fmt.Errorf("sandbox %q: %w", dir.Name(), err)
	}
	// It may be that the directory stays: the note would have this done again.
	return kindground.Forget(dir.Path())
}

// devices gives loop devices back.
func devices(ctx context.Context, dir *instance.Dir, say func(string)) error {
	ended, pinned, err := loop.Reap(ctx, dir.Path(), patience)
	switch {
	case err != nil:
		return fmt.Errorf("sandbox %q: its loop devices are left: %w", dir.Name(), err)
	case pinned > 0:
		return fmt.Errorf("sandbox %q: %d loop devices are in use by another process: see losetup --list", dir.Name(), pinned)
	case ended > 0:
		say(fmt.Sprintf("gave %d loop devices back", ended))
	}
	return nil
}

// Writes takes back what the dead sandbox of an instance directory, which may be gone, has written to real vCenters. getenv
// has the credentials where those were from the environment.
func Writes(ctx context.Context, dir string, getenv func(string) string, say func(string)) error {
	left, err := real.LeftWrites(dir)
	if err != nil || left == nil {
		return err
	}
	if left.Keep {
		say(fmt.Sprintf("%d writes to real VMs are kept, as requested", len(left.Pending)))
		return left.Forget()
	}
	for _, e := range left.Pending {
		say("takes back " + left.Describe(e))
	}
	config, err := vcenterconfig.Of(left.Source, getenv)
	if err == nil {
		err = left.Revert(ctx, config)
	}
	if err != nil {
		return undone(dir, len(left.Pending), vcenterconfig.Explain(ctx, err))
	}
	return nil
}

// Unreverted says which sandboxes of a state directory that do not run have written to real vCenters and not taken back how
// much. Of most of them there is nothing else left.
func Unreverted(root string) (map[string]int, error) {
	all, err := real.Unreverted(root)
	if err != nil {
		return nil, err
	}
	for name := range all {
		dir, err := instance.Open(root, name)
		if errors.As(err, new(instance.ErrNotFound)) {
			continue
		}
		if err != nil {
			return nil, err
		}
		if _, running := dir.Running(); running {
			delete(all, name)
		}
	}
	return all, nil
}

// Message say that writes are left, and how to take them back.
func Message(name string, writes int) string {
	return fmt.Sprintf("%d writes to real VMs are not taken back: %s down --name %s does so", writes, command.Program, name)
}

// undone returns the error of writes that are not reverted: what and where, with the code and the advice of the reason,
// which otherwise would replace it.
func undone(dir string, n int, why error) error {
	cause := report.Of(why)
	again := "vsphere-sandbox down --name " + filepath.Base(dir) + "   # which tries again"
	return &report.Error{
		Code: cause.Code, Message: fmt.Sprintf("sandbox %q: %d writes to real VMs are not taken back", filepath.Base(dir), n), Err: why,
		Try: strings.TrimPrefix(cause.Try+"\n"+again, "\n"), Exit: cause.Exit,
	}
}
