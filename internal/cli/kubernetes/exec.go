package kubernetes

import (
	"context"
	"errors"
	"os"
	"os/exec"
	"os/signal"
	"syscall"

	"github.com/vsphere-sandbox/vsphere-sandbox/internal/cli/report"
	"github.com/vsphere-sandbox/vsphere-sandbox/internal/iostreams"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/sandbox/api"
)

// Program returns the path of the Kubernetes program for a sandbox: its own, else, as on kind, the one here that is nearest to
// the cluster's release. The zero Status means the built-in program.
func Program(ctx context.Context, streams *iostreams.Streams, s api.Status) (string, error) {
	if s.KubernetesProgram != "" {
		return s.KubernetesProgram, nil
	}
	p, err := finder(streams).Nearest(ctx, s.KubernetesVersion)
	return p.Path, Explain(err)
}

// Exec runs a command of the Kubernetes program until it ends: its streams are these, Ctrl-C is its own, and its exit status is
// the error's.
func Exec(streams *iostreams.Streams, program string, args ...string) error {
	cmd := exec.Command(program, args...) //nolint:noctx // it ends by itself, or by the signals that it gets
	cmd.Stdin, cmd.Stdout, cmd.Stderr = streams.In, streams.Out, streams.Err
	signals := make(chan os.Signal, 1)
	signal.Notify(signals, os.Interrupt, syscall.SIGTERM) // a terminal sends the first to both processes
	defer signal.Stop(signals)
	if err := cmd.Start(); err != nil {
		return err
	}
	done := make(chan struct{})
	defer close(done)
	go func() {
		for {
			select {
			case s := <-signals:
				if s == syscall.SIGTERM {
					_ = cmd.Process.Signal(s) // it may have ended
				}
			case <-done:
				return
			}
		}
	}()
	err := cmd.Wait()
	if failed, ok := errors.AsType[*exec.ExitError](err); ok { // it has said why
		return report.Exit(max(failed.ExitCode(), report.Failure))
	}
	return err
}
