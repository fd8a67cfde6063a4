package stage

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"strings"
	"time"

	"github.com/vsphere-sandbox/vsphere-sandbox/internal/cli/command"
	"github.com/vsphere-sandbox/vsphere-sandbox/internal/instance"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/scenario"
)

// mostOutput bounds what is kept of what a command of a scenario writes, in bytes.
const mostOutput = 1 << 20

// Runner returns what runs commands of scenarios on a sandbox: kubectl, govc, and this program's own.
func Runner(self, name string) func(context.Context, scenario.Command) (scenario.Output, error) {
	return func(ctx context.Context, c scenario.Command) (scenario.Output, error) {
		args, err := arguments(name, c.Argv)
		if err != nil {
			return scenario.Output{}, err
		}
		cmd := exec.CommandContext(ctx, self, args...)
		cmd.Dir = c.Dir
		cmd.Env = append(os.Environ(), command.NameEnv+"="+name)
		if root, err := instance.Root(); err == nil { // which may be relative to this process's directory
			cmd.Env = append(cmd.Env, instance.RootEnv+"="+root)
		}
		cmd.Stdin = strings.NewReader(c.Stdin)
		var out, told limited
		cmd.Stdout, cmd.Stderr = &out, &told
		cmd.Cancel = func() error { return cmd.Process.Signal(os.Interrupt) }
		cmd.WaitDelay = 5 * time.Second
		err = cmd.Run()
		result := scenario.Output{Stdout: out.String(), Stderr: told.String()}
		var exit *exec.ExitError
		switch {
		case ctx.Err() != nil:
			return result, ctx.Err()
		case errors.As(err, &exit):
			result.Exit = exit.ExitCode()
			return result, nil
		}
		return result, err
	}
}

// arguments are those of this program for a command of a scenario.
func arguments(name string, argv []string) ([]string, error) {
	if len(argv) == 0 {
		return nil, errors.New("there is no command")
	}
	switch argv[0] {
	case "kubectl", "govc":
		return append([]string{"--name", name}, argv...), nil
	case command.Program:
		return append([]string{"--name", name}, argv[1:]...), nil
	}
	return nil, fmt.Errorf("command %q: scenarios run kubectl, govc and %s", argv[0], command.Program)
}

// limited keeps the first of what is written, and drops the rest.
type limited struct{ bytes.Buffer }

func (l *limited) Write(b []byte) (int, error) {
	if room := mostOutput - l.Len(); room > 0 {
		l.Buffer.Write(b[:min(room, len(b))])
	}
	return len(b), nil
}
