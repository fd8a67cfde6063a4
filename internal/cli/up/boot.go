package up

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"runtime/debug"
	"time"

	"k8s.io/klog/v2"

	"github.com/vsphere-sandbox/vsphere-sandbox/internal/build"
	"github.com/vsphere-sandbox/vsphere-sandbox/internal/cli/output"
	"github.com/vsphere-sandbox/vsphere-sandbox/internal/cli/tables"
	"github.com/vsphere-sandbox/vsphere-sandbox/internal/instance"
	"github.com/vsphere-sandbox/vsphere-sandbox/internal/pace"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/event"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/sandbox"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/sim"
)

// boot runs the sandbox in this process until it is told to end.
func boot(ctx context.Context, o *options) (err error) {
	o.Deps = voiced(o.Deps)
	root, err := o.Sandboxes.Root()
	if err != nil {
		return err
	}
	dir, err := instance.Create(root, o.name)
	if err != nil {
		return explainState(o, err)
	}
	defer func() { err = errors.Join(err, leave(o, dir, err)) }()
	if left := dir.Predecessor(); left.Removed {
		fmt.Fprintf(o.Streams.Err, "cleaned up after an earlier sandbox %q that did not end by itself (%d processes were left)\n", o.name, len(left.Killed))
	}
	record := instance.Record{
		Name: o.name, PID: os.Getpid(), StartedAt: time.Now(), Version: build.Version(), Scenario: o.topology.Metadata.Name,
	}
	if err := dir.WriteRecord(record); err != nil {
		return explainState(o, err)
	}
	logFile, err := os.OpenFile(dir.Log("sandbox"), os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
	if err != nil {
		return explainState(o, err)
	}
	defer logFile.Close()
	// A panic is to be found where whoever cleans up looks for the reason, also when there is no terminal to tell it.
	if err := debug.SetCrashOutput(logFile, debug.CrashOptions{}); err != nil {
		return explainState(o, err)
	}
	defer debug.SetCrashOutput(nil, debug.CrashOptions{})
	logger := slog.New(slog.NewTextHandler(logFile, &slog.HandlerOptions{Level: slog.LevelInfo}))
	defer sim.CaptureLog(logger)()
	klog.SetSlogLogger(logger.With("component", "client-go"))

	progress := newProgress(o.Streams.Err, o.Streams.ErrTTY())
	defer progress.close()
	fmt.Fprintf(o.Streams.Err, "sandbox %q: %s, speed %g\n", o.name, o.holds(), o.speed)
	if o.alone == nil && len(o.topology.Nodes()) == 0 {
		fmt.Fprintln(o.Streams.Err, "note: no VM of this topology has a role: the cluster will have no nodes")
	}
	opts := sandbox.Options{
		Name: o.name, Topology: o.topology, Speed: pace.Speed(o.speed), Dir: dir, Port: o.port, Audit: o.audit, Logger: logger,
		Progress: progress.show,
	}
	if o.alone != nil {
		opts.VCentersOnly, opts.Addresses, opts.Login, opts.Saved = true, o.alone.Addresses, o.alone.Login, o.alone.Saved
	}
	s := sandbox.New(opts)
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	told := make(chan struct{})
	unheard := context.AfterFunc(ctx, func() {
		defer close(told)
		progress.close()
		fmt.Fprintf(o.Streams.Err, "sandbox %q: stopping\n", o.name)
	})
	begin := time.Now()
	ready := false
	var failed *untold
	err = s.Run(ctx, func() {
		ready = true
		progress.close()
		record.Ready = true
		if err := dir.WriteRecord(record); err != nil {
			logger.Error("record", "err", err)
		}
		fmt.Fprintf(o.Streams.Err, "ready in %.1fs\n\n", time.Since(begin).Seconds())
		if err := announce(ctx, o, s); errors.As(err, &failed) {
			cancel()
		} else if err != nil {
			logger.Error("announce", "err", err)
		}
	})
	if !unheard() {
		<-told
	}
	progress.close() // what is said from here on begins on a line of its own
	if failed != nil {
		return errors.Join(failed.error, err)
	}
	if ready && err == nil {
		fmt.Fprintf(o.Streams.Err, "sandbox %q: stopped\n", o.name)
		return nil // it was told to end, and did
	}
	if err != nil && !errors.Is(err, context.Canceled) {
		tellTrouble(o, s.Log())
	}
	return explainRun(o, err)
}

// tellTrouble shows the last things that went wrong: the error names the step that failed, these often the reason.
func tellTrouble(o *options, log *event.Log) {
	const most = 5
	events, _ := log.Read(0, 0)
	var bad []event.Event
	for _, e := range events {
		if e.Level == event.Error {
			bad = append(bad, e)
		}
	}
	for _, e := range bad[max(0, len(bad)-most):] {
		fmt.Fprintf(o.Streams.Err, "  ✗ %s\n", e.Message)
	}
}

// leave removes the sandbox's directory, or leaves it with its logs when it failed and that was asked for.
func leave(o *options, dir *instance.Dir, err error) error {
	if err == nil || !o.retain {
		return dir.Remove()
	}
	fmt.Fprintf(o.Streams.Err, "kept until \"down\" or the next \"up\" of that name: %s\n", dir.Path())
	return errors.Join(dir.WriteRecord(instance.Record{Name: o.name, Scenario: o.topology.Metadata.Name, Retained: true}), dir.Close())
}

// announce shows what has come up. Whoever waits for it is told in any case, also when nobody reads what is shown.
func announce(ctx context.Context, o *options, s *sandbox.Sandbox) (err error) {
	if o.alone != nil {
		err = announceVCenters(ctx, o, s)
		if failed := (*untold)(nil); errors.As(err, &failed) {
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
	fmt.Fprint(o.Streams.Err, "\nIn a second terminal:\n", next(o), "\nCtrl-C ends it.\n")
	return err
}
