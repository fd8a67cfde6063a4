package up

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"time"

	"github.com/vsphere-sandbox/vsphere-sandbox/internal/cli/command"
	"github.com/vsphere-sandbox/vsphere-sandbox/internal/cli/csi"
	"github.com/vsphere-sandbox/vsphere-sandbox/internal/cli/home"
	"github.com/vsphere-sandbox/vsphere-sandbox/internal/cli/limits"
	"github.com/vsphere-sandbox/vsphere-sandbox/internal/cli/output"
	"github.com/vsphere-sandbox/vsphere-sandbox/internal/cli/report"
	"github.com/vsphere-sandbox/vsphere-sandbox/internal/cli/tables"
	"github.com/vsphere-sandbox/vsphere-sandbox/internal/instance"
	"github.com/vsphere-sandbox/vsphere-sandbox/internal/pace"
	"github.com/vsphere-sandbox/vsphere-sandbox/internal/printable"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/cluster/kind"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/event"
	kindground "github.com/vsphere-sandbox/vsphere-sandbox/pkg/ground/kind"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/sandbox"
)

// boot runs the sandbox in this process until it is stopped.
func boot(ctx context.Context, o *options) (err error) {
	o.Deps = withStickyStderr(o.Deps)
	root, err := o.Sandboxes.Root()
	if err != nil {
		return err
	}
	if err := o.preflight(ctx, root); err != nil {
		return err
	}
	program, err := o.ccm.Resolve(ctx, o.Streams)
	if err != nil {
		return err
	}
	if o.ground.Podded() {
		if program, err = o.ccm.Deployable(ctx, program, o.Streams); err != nil {
			return err
		}
	}
	volumes, err := o.csi.Resolve(ctx, o.Streams)
	if err != nil {
		return err
	}
	cluster, err := o.cluster(ctx)
	if err != nil {
		return err
	}
	o.reportUnreverted(root)
	instanceHome, err := home.Open(ctx, root, o.name, o.topology.Metadata.Name, func(text string) {
		fmt.Fprintln(o.Streams.Err, "an earlier sandbox of this name crashed:", printable.Line(text))
	})
	if err != nil {
		return explainState(o, err)
	}
	ready := false
	defer func() { err = errors.Join(err, leave(o, instanceHome, err, ready)) }()
	dir, logger := instanceHome.Dir, instanceHome.Logger
	if left := dir.Predecessor(); left.Removed {
		fmt.Fprintf(o.Streams.Err, "cleaned up after an earlier sandbox %q that crashed (%d processes were left)\n", o.name, len(left.Killed))
	}

	ctx, unwatch := instanceHome.While(ctx)
	defer unwatch()
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	var ui *screen
	if o.tui {
		ui = openScreen(ctx, o, dir, cancel)
		defer func() { err = errors.Join(err, ui.end()) }()
	}
	shown, tty := o.Streams.Err, o.Streams.ErrTTY()
	if o.tui { // which shows it
		shown, tty = io.Discard, false
	}
	progress := newProgress(shown, tty)
	defer progress.close()
	fmt.Fprintf(o.Streams.Err, "sandbox %q: %s, speed %g\n", o.name, o.holds(), o.speed)
	if o.alone == nil && !o.ground.Watches && len(o.topology.Nodes()) == 0 {
		fmt.Fprintln(o.Streams.Err, "note: no VM of this topology has a role: the cluster will have no nodes")
	}
	opts := o.sandbox()
	opts.Dir, opts.Logger, opts.Progress, opts.CCM, opts.CSI = dir, logger, progress.show, program, volumes
	opts.Cluster = cluster
	var s running = sandbox.New(opts)
	if o.ground.Installs() {
		if s, err = attached(ctx, o, instanceHome, progress.show); err != nil {
			return err
		}
	}
	if o.ccm.Watch != "" && !o.tui {
		defer reportBuilds(ctx, o.Streams.Err, s.Log())()
	}
	announced := make(chan struct{})
	stopAnnounce := context.AfterFunc(ctx, func() {
		defer close(announced)
		progress.close()
		fmt.Fprintf(o.Streams.Err, "sandbox %q: stopping\n", o.name)
	})
	begin := time.Now()
	var failed *envError
	err = s.Run(ctx, func() {
		ready = true
		progress.close()
		instanceHome.Ready()
		fmt.Fprintf(o.Streams.Err, "ready in %.1fs\n\n", time.Since(begin).Seconds())
		if o.tui {
			return
		}
		if err := announce(ctx, o, s); errors.As(err, &failed) {
			cancel()
		} else if err != nil {
			logger.Error("announce", "err", err)
		}
	})
	if !stopAnnounce() {
		<-announced
	}
	progress.close() // later output begins on a new line
	if failed != nil {
		return errors.Join(failed.error, err)
	}
	if removed := instanceHome.Removed(ctx); removed != nil {
		if errors.Is(err, context.Canceled) {
			err = nil
		}
		return errors.Join(removed, err)
	}
	if ready && err == nil {
		fmt.Fprintf(o.Streams.Err, "sandbox %q: stopped\n", o.name)
		return nil // it was stopped on request
	}
	if err != nil && !errors.Is(err, context.Canceled) {
		reportTrouble(o, s.Log())
	}
	return explainRun(o, err)
}

// cluster is what the flags say of the cluster, with the Kubernetes program of an embedded one.
func (o *options) cluster(ctx context.Context) (c sandbox.Cluster, err error) {
	c = o.ground.Of(o.retain)
	if o.embedded() {
		c.Kubernetes, err = o.kubernetes.Resolve(ctx, o.Streams)
	}
	return c, err
}

// sandbox is what the flags say of it. What has to be fetched or made is not in it.
func (o *options) sandbox() sandbox.Options {
	opts := sandbox.Options{
		Name: o.name, Topology: o.topology, Speed: pace.Speed(o.speed), Port: o.port, Audit: o.audit, Light: o.light,
		Cluster: o.ground.Of(o.retain), Real: o.real, VCenterPort: o.limits.Port(),
		CCM: sandbox.CCM{None: o.ccm.None(), Replicas: o.ccm.Replicas}, CSI: sandbox.CSI{Enabled: o.csi.Driver != csi.Off},
	}
	if o.alone != nil {
		opts.VCentersOnly, opts.Addresses, opts.Login, opts.Saved = true, o.alone.Addresses, o.alone.Login, o.alone.Saved
	}
	return opts
}

// preflight checks the limits of this machine, before anything is fetched or made. A sandbox in another cluster takes
// nothing of them.
func (o *options) preflight(ctx context.Context, root string) error {
	if o.ground.Installs() {
		return nil
	}
	if err := instance.Taken(root, o.name); err != nil { // which is why there is less
		return explainState(o, err)
	}
	return o.limits.Run(ctx, limits.SizeOf(o.sandbox(), root), func(text string) { fmt.Fprintln(o.Streams.Err, "note:", text) })
}

// reportTrouble shows the last things that went wrong: the error names the step that failed, these often the reason.
func reportTrouble(o *options, log *event.Log) {
	const most = 5
	events, _ := log.Read(0, 0)
	var bad []event.Event
	for _, e := range events {
		if e.Level == event.Error {
			bad = append(bad, e)
		}
	}
	for _, e := range bad[max(0, len(bad)-most):] {
		fmt.Fprintf(o.Streams.Err, "  ✗ %s\n", printable.Line(e.Message))
	}
}

// leave removes the sandbox's directory, or leaves it with its logs: when it did not come up and no prerequisite explains
// that, or when it failed in another way and that was asked for. An interrupted boot leaves nothing.
func leave(o *options, instanceHome *home.Home, err error, ready bool) error {
	retain := err != nil && (o.retain || !ready && report.Of(err).Exit == report.Failure)
	if retain {
		fmt.Fprintf(o.Streams.Err, "kept until \"down\" or the next \"up\" of that name: %s\n", instanceHome.Dir.Path())
		reportNodes(o, instanceHome.Dir.Path())
	}
	return instanceHome.Leave(retain)
}

// reportNodes says how the nodes are found that are kept with a directory, where they are containers, and removed.
func reportNodes(o *options, dir string) {
	with, err := kindground.Runtime(dir)
	if err != nil || with == nil {
		return
	}
	fmt.Fprintf(o.Streams.Err, "kept with it are its nodes, as far as they were made: %s\n", kind.Listing(with, o.name))
	logs := filepath.Join(dir, "logs", "kind")
	if _, err := os.Stat(logs); err == nil {
		fmt.Fprintln(o.Streams.Err, "what they have logged is in", logs)
	}
	fmt.Fprintf(o.Streams.Err, "this removes all of it: %s%s down\n", command.Typed(os.Args[0]), o.nameFlag())
}

// announce prints what has come up. A waiting parent process is notified in any case, also if the output fails.
func announce(ctx context.Context, o *options, s running) (err error) {
	if o.alone != nil {
		err = announceVCenters(ctx, o, s.(*sandbox.Sandbox)) // which is in this process
		if failed := (*envError)(nil); errors.As(err, &failed) {
			return err
		}
	} else if o.format == output.JSON || o.format == output.YAML {
		err = output.Object(o.Streams.Out, o.format, "Status", s.Status())
	} else {
		err = output.List(o.Streams.Out, output.Flags{}, tables.Nodes(o.Now()), s.Nodes())
	}
	if o.detached {
		return errors.Join(err, released())
	}
	fmt.Fprint(o.Streams.Err, "\nIn a second terminal:\n", next(o), "\nCtrl-C stops it.\n")
	return err
}
