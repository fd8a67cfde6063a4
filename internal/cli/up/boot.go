package up

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"os"
	"strings"
	"syscall"
	"time"

	"k8s.io/klog/v2"

	"github.com/vsphere-sandbox/vsphere-sandbox/internal/build"
	"github.com/vsphere-sandbox/vsphere-sandbox/internal/cli/output"
	"github.com/vsphere-sandbox/vsphere-sandbox/internal/cli/report"
	"github.com/vsphere-sandbox/vsphere-sandbox/internal/cli/tables"
	"github.com/vsphere-sandbox/vsphere-sandbox/internal/instance"
	"github.com/vsphere-sandbox/vsphere-sandbox/internal/pace"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/event"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/sandbox"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/sim"
)

// boot runs the sandbox in this process until it is told to end.
func boot(ctx context.Context, o *options) (err error) {
	root, err := o.Sandboxes.Root()
	if err != nil {
		return err
	}
	dir, err := instance.Create(root, o.name)
	if err != nil {
		return explain(o, err)
	}
	defer func() { err = errors.Join(err, leave(o, dir, err)) }()
	if left := dir.Predecessor(); left.Removed {
		fmt.Fprintf(o.Streams.Err, "cleaned up after an earlier sandbox %q that did not end by itself (%d processes were left)\n", o.name, len(left.Killed))
	}
	record := instance.Record{
		Name: o.name, PID: os.Getpid(), StartedAt: time.Now(), Version: build.Version(), Scenario: o.topology.Metadata.Name,
	}
	if err := dir.WriteRecord(record); err != nil {
		return explain(o, err)
	}
	logFile, err := os.OpenFile(dir.Log("sandbox"), os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
	if err != nil {
		return explain(o, err)
	}
	defer logFile.Close()
	logger := slog.New(slog.NewTextHandler(logFile, &slog.HandlerOptions{Level: slog.LevelInfo}))
	defer sim.CaptureLog(logger)()
	klog.SetSlogLogger(logger.With("component", "client-go"))

	progress := newProgress(o.Streams.Err, o.Streams.ErrTTY())
	defer progress.close()
	fmt.Fprintf(o.Streams.Err, "sandbox %q: %s, speed %g\n", o.name, o.topology.Count(), o.speed)
	if len(o.topology.Nodes()) == 0 {
		fmt.Fprintln(o.Streams.Err, "note: no VM of this topology has a role: the cluster will have no nodes")
	}
	s := sandbox.New(sandbox.Options{
		Name: o.name, Topology: o.topology, Speed: pace.Speed(o.speed), Dir: dir, Port: o.port, Audit: o.audit, Logger: logger,
		Progress: progress.show,
	})
	begin := time.Now()
	ready := false
	err = s.Run(ctx, func() {
		ready = true
		progress.close()
		record.Ready = true
		if err := dir.WriteRecord(record); err != nil {
			logger.Error("record", "err", err)
		}
		fmt.Fprintf(o.Streams.Err, "ready in %.1fs\n\n", time.Since(begin).Seconds())
		if err := announce(o, s); err != nil {
			logger.Error("announce", "err", err)
		}
	})
	progress.close() // what is said from here on begins on a line of its own
	if ready && err == nil {
		fmt.Fprintf(o.Streams.Err, "sandbox %q: stopped\n", o.name)
		return nil // it was told to end, and did
	}
	if err != nil && !errors.Is(err, context.Canceled) {
		tellTrouble(o, s.Log())
	}
	return explain(o, err)
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

// announce shows what has come up.
func announce(o *options, s *sandbox.Sandbox) error {
	if o.format == output.JSON || o.format == output.YAML {
		if err := output.Object(o.Streams.Out, o.format, "Status", s.Status()); err != nil {
			return err
		}
	} else if err := output.List(o.Streams.Out, output.Flags{}, tables.Nodes(o.Now()), s.Nodes()); err != nil {
		return err
	}
	if o.detached {
		return released()
	}
	fmt.Fprint(o.Streams.Err, "\nIn a second terminal:\n", next(o), "\nCtrl-C ends it.\n")
	return nil
}

// explain gives the errors of a boot their codes and ways out.
func explain(o *options, err error) error {
	var running instance.ErrRunning
	e := &report.Error{Exit: report.Prerequisite, Err: err}
	switch {
	case err == nil:
		return nil
	case errors.As(err, &running):
		e.Code, e.Message, e.Err, e.Exit = "already-running", running.Error(), nil, report.Failure
		e.Try = fmt.Sprintf("vsphere-sandbox status --name %s\nvsphere-sandbox down --name %[1]s\nvsphere-sandbox up --name another", o.name)
	case errors.Is(err, syscall.EADDRINUSE):
		e.Code, e.Message, e.Try = "port-in-use", "a port is taken by another program", "vsphere-sandbox up --api-port 0   # any free one"
	case errors.Is(err, syscall.ENOSPC), strings.Contains(err.Error(), syscall.ENOSPC.Error()): // a child can only tell in words
		e.Code, e.Message, e.Try = "disk-full", "the disk of the state directory is full", "make room, or export VSPHERE_SANDBOX_STATE=DIR elsewhere"
	case errors.Is(err, fs.ErrPermission):
		e.Code, e.Message, e.Try = "state-unwritable", "the state directory cannot be written", "export VSPHERE_SANDBOX_STATE=DIR that you may write"
	case errors.Is(err, context.Canceled):
		return err
	default:
		return fmt.Errorf("sandbox %q: %w", o.name, err)
	}
	return e
}
