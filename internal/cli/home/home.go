package home

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"runtime/debug"
	"sync"
	"time"

	"k8s.io/klog/v2"

	"github.com/vsphere-sandbox/vsphere-sandbox/internal/build"
	"github.com/vsphere-sandbox/vsphere-sandbox/internal/cli/attach"
	"github.com/vsphere-sandbox/vsphere-sandbox/internal/cli/leftovers"
	"github.com/vsphere-sandbox/vsphere-sandbox/internal/cli/report"
	"github.com/vsphere-sandbox/vsphere-sandbox/internal/instance"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/ground/kind"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/sim"
)

// Home is that of one sandbox. A process has one at a time: logs and crashes go to the last one opened.
type Home struct {
	Dir    *instance.Dir
	Logger *slog.Logger

	record  instance.Record
	log     *os.File
	restore func()
}

// Open creates the directory of a sandbox below root, and records its attributes there. If it fails it leaves nothing. It
// calls say for each thing that a killed sandbox left elsewhere and that it cleans up. End it with [Home.Release].
func Open(ctx context.Context, root, name, scenario string, say func(string)) (*Home, error) {
	// First what dead sandboxes left elsewhere, while their directory still lists it.
	if err := leftovers.Sweep(ctx, root, name, say); err != nil {
		return nil, err
	}
	dir, err := instance.Create(root, name)
	if err != nil {
		return nil, err
	}
	h := &Home{Dir: dir, restore: func() {}, record: instance.Record{
		Name: name, PID: os.Getpid(), StartedAt: time.Now(), Version: build.Version(), Topology: scenario,
	}}
	if err := h.furnish(); err != nil {
		return nil, errors.Join(err, h.Release(false))
	}
	return h, nil
}

func (h *Home) furnish() error {
	if err := h.Dir.WriteRecord(h.record); err != nil {
		return err
	}
	var err error
	if h.log, err = os.OpenFile(h.Dir.Log("sandbox"), os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600); err != nil {
		return err
	}
	// Write a panic to the log, where the next command looks for the reason, also if there is no terminal.
	if err := debug.SetCrashOutput(h.log, debug.CrashOptions{}); err != nil {
		return err
	}
	h.Logger = slog.New(slog.NewTextHandler(h.log, &slog.HandlerOptions{Level: slog.LevelInfo}))
	h.restore = sim.CaptureLog(h.Logger)
	klog.SetSlogLogger(h.Logger.With("component", "client-go"))
	return nil
}

// ErrRemoved is why the context of [Home.Context] has ended: the directory is not there any more.
var ErrRemoved = errors.New("its directory was removed while it ran")

// Context returns a context that ends with ctx, and when the directory is removed: no command would find the sandbox any more to
// end it. stop ends it, too; call it before [Home.Release].
func (h *Home) Context(ctx context.Context) (_ context.Context, stop func()) {
	ctx, cancel := context.WithCancelCause(ctx)
	var watch sync.WaitGroup
	watch.Go(func() {
		if h.Dir.AwaitRemoval(ctx) {
			cancel(ErrRemoved)
		}
	})
	return ctx, func() {
		cancel(context.Canceled)
		watch.Wait()
	}
}

// Removed returns the error that the directory was removed, if that is what has ended a context of [Home.Context]; else nil.
func (h *Home) Removed(ctx context.Context) error {
	if !errors.Is(context.Cause(ctx), ErrRemoved) {
		return nil
	}
	return &report.Error{
		Code: "directory-removed", Message: fmt.Sprintf("sandbox %q has ended: its directory %s was removed while it ran", h.Dir.Name(), h.Dir.Path()),
		Try: "vsphere-sandbox down --name " + h.Dir.Name() + "   # the next time, instead of rm",
	}
}

// Ready records that the sandbox is.
func (h *Home) Ready() {
	h.record.Ready = true
	if err := h.Dir.WriteRecord(h.record); err != nil {
		h.Logger.Error("record", "err", err)
	}
}

// Release removes the directory, or keeps it for a look at the logs, for a later cleanup. A directory that lists what is
// left elsewhere stays in any case; the next command cleans that up.
func (h *Home) Release(retain bool) error {
	h.restore()
	var errs []error
	if h.log != nil {
		errs = append(errs, debug.SetCrashOutput(nil, debug.CrashOptions{}), h.log.Close())
	}
	with, err := kind.Runtime(h.Dir.Path())
	switch {
	case retain:
		kept := instance.Record{Name: h.record.Name, Topology: h.record.Topology, Retained: true}
		errs = append(errs, h.Dir.WriteRecord(kept), h.Dir.Close())
	case err != nil, with != nil, attach.Placed(h.Dir.Path()):
		kept := instance.Record{Name: h.record.Name, Topology: h.record.Topology, Left: true}
		errs = append(errs, err, h.Dir.WriteRecord(kept), h.Dir.Close())
	default:
		errs = append(errs, h.Dir.Remove())
	}
	return errors.Join(errs...)
}
