package up

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"strconv"
	"syscall"

	"github.com/vsphere-sandbox/vsphere-sandbox/internal/cli/command"
	"github.com/vsphere-sandbox/vsphere-sandbox/internal/cli/csi"
	"github.com/vsphere-sandbox/vsphere-sandbox/internal/cli/output"
	"github.com/vsphere-sandbox/vsphere-sandbox/internal/cli/report"
	"github.com/vsphere-sandbox/vsphere-sandbox/internal/secret"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/sandbox"
)

// readyFD is the descriptor on which a detached sandbox says that it is ready: one byte. If it ends without, it failed.
const readyFD = 3

// secretsFD is the descriptor from which it takes the variables that hold secrets.
const secretsFD = 4

// detach runs the sandbox in a new process and session, shows its boot, and returns when it is ready.
func detach(ctx context.Context, o *options) error {
	r, w, err := os.Pipe()
	if err != nil {
		return err
	}
	defer r.Close()
	environ := os.Environ()
	if o.alone != nil {
		environ = append(environ, o.alone.Environ...)
	}
	// It runs for days, and any process of this user can read its environment.
	environ, secrets := secret.Split(environ)
	handed, variable, err := secret.Hand(secrets, secretsFD)
	if err != nil {
		_ = w.Close()
		return err
	}
	defer handed.Close()
	cmd := exec.Command(o.Self, o.again()...) //nolint:noctx // it outlives this process
	cmd.Env = append(environ, variable)
	cmd.Stdout, cmd.Stderr = o.Streams.Out, o.Streams.Err
	cmd.ExtraFiles = []*os.File{w, handed}
	cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true} // neither Ctrl-C nor the end of this terminal is for it
	if err := cmd.Start(); err != nil {
		_ = w.Close()
		return err
	}
	_ = w.Close()

	ready := make(chan bool, 1)
	go func() {
		n, _ := r.Read(make([]byte, 1))
		ready <- n == 1
	}()
	select {
	case ok := <-ready:
		if ok {
			fmt.Fprint(o.Streams.Err, "\nIt keeps running:\n", next(o), "  ", command.Typed(os.Args[0]), o.nameFlag(), " down\n")
			return cmd.Process.Release()
		}
	case <-ctx.Done():
		_ = cmd.Process.Signal(syscall.SIGTERM) // its only error is that it has ended
	}
	var exit *exec.ExitError
	switch err := cmd.Wait(); {
	case ctx.Err() != nil:
		return ctx.Err()
	case errors.As(err, &exit) && exit.ExitCode() > 0:
		return report.Exit(exit.ExitCode()) // it has said why
	case err != nil:
		return fmt.Errorf("sandbox %q: %w", o.name, err)
	}
	return &report.Error{
		Message: fmt.Sprintf("sandbox %q: ended before it was ready", o.name), Try: "the same without --detach, which shows more",
	}
}

// again are the arguments with which the program does in the foreground what it is to do in the background.
func (o *options) again() []string {
	if o.alone != nil {
		return append([]string{"--name", o.name}, o.alone.Args...)
	}
	what := []string{o.source}
	if o.snapshot != nil {
		what = []string{"--from", o.from, fmt.Sprintf("--resume=%t", o.resume)}
	}
	if o.real != nil {
		what = o.realFlags.ToArgs()
	}
	args := append(append([]string{"--name", o.name, "up"}, what...),
		"--detached",
		"--speed", strconv.FormatFloat(o.speed, 'f', -1, 64), "--api-port", strconv.Itoa(o.port), fmt.Sprintf("--retain=%t", o.retain), fmt.Sprintf("--audit=%t", o.audit))
	if o.light {
		args = append(args, "--light")
	}
	if o.trace != "" {
		args = append(args, "--trace", o.trace)
	}
	if o.balancer != sandbox.LoadBalancerSimple {
		args = append(args, "--loadbalancer="+o.balancer)
	}
	args = append(args, o.set.Args()...)
	args = append(args, o.ccm.ToArgs()...)
	if o.real != nil && o.csi.Driver == csi.Builtin { // which is not the default there
		args = append(args, "--csi="+csi.Builtin)
	}
	args = append(args, o.csi.ToArgs()...)
	args = append(args, o.kubernetes.ToArgs()...)
	args = append(args, o.ground.ToArgs()...)
	args = append(args, o.limits.ToArgs()...)
	if o.format != output.Plain {
		args = append(args, "--output", o.format)
	}
	return args
}

func (o *options) nameFlag() string {
	if o.name == command.DefaultName {
		return ""
	}
	return " --name " + o.name
}

// released closes the terminal of the detaching process, and notifies that process.
func released() error {
	null, err := os.OpenFile(os.DevNull, os.O_RDWR, 0)
	if err != nil {
		return err
	}
	defer null.Close()
	f := os.NewFile(readyFD, "ready")
	defer f.Close()
	if _, err := f.Write([]byte{1}); err != nil {
		return err
	}
	for fd := range 3 {
		if err := dup(int(null.Fd()), fd); err != nil {
			return err
		}
	}
	return nil
}
