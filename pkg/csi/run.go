package csi

import (
	"context"
	"fmt"
	"log/slog"
	"os"
	"time"

	"github.com/go-logr/logr"
	"k8s.io/component-base/logs"
	logsapi "k8s.io/component-base/logs/api/v1"
	"k8s.io/klog/v2"
)

// Run is the driver: it takes its command line (args without the program's name) and returns when ctx has ended, calls
// under way are answered and every session is logged out, or with the error that kept it from starting. It logs to stderr
// through klog; --help and --version are answered on stdout. At most one Run in a process: metrics and log flags are the
// process's.
//
// In its environment it looks for upstream's X_CSI_MODE, CSI_ENDPOINT, VSPHERE_CSI_CONFIG and NODE_NAME, where the flags
// are not given, and for the VSPHERE_… variables of a vsphere.conf (see pkg/provider/config).
func Run(ctx context.Context, args []string) error {
	cmd, err := parse(args, os.Environ())
	switch {
	case err != nil:
		return err
	case cmd.help:
		cmd.printHelp(os.Stdout)
		return nil
	case cmd.version:
		fmt.Fprintln(os.Stdout, commandName, version())
		return nil
	}
	logs.InitLogs()
	defer logs.FlushLogs()
	if err := logsapi.ValidateAndApply(cmd.logs, nil); err != nil {
		return fmt.Errorf("csi: logging flags: %w", err)
	}
	log := slog.New(withAttrs{Handler: logr.ToSlogHandler(klog.Background())})
	log.Info("starting", "mode", cmd.mode, "version", version())
	if cmd.mode == modeNode {
		return cmd.runNode(ctx, log)
	}
	return cmd.runController(ctx, log)
}

// background runs f until end is called, which waits for it. It does not end with ctx: the parts of the driver end in an
// order.
func background(ctx context.Context, log *slog.Logger, what string, f func(context.Context) error) (end func()) {
	ctx, cancel := context.WithCancel(context.WithoutCancel(ctx))
	done := make(chan struct{})
	go func() {
		defer close(done)
		if err := f(ctx); err != nil && ctx.Err() == nil {
			log.Error("background work ended", "work", what, "err", err)
		}
	}()
	return func() {
		began := time.Now()
		cancel()
		<-done
		log.Debug("ended", "part", what, "seconds", time.Since(began).Seconds())
	}
}
