package runtime

import (
	"context"
	"errors"
	"os/exec"
	"strconv"
	"time"
)

// command runs the program of that name.
type command struct {
	name string
	env  []string // nil is this process's
}

// grace is how long a program that was told to end may take, and what it has left behind may hold its output.
const grace = 5 * time.Second

func (of command) Run(ctx context.Context, c Call) error {
	cmd := exec.CommandContext(ctx, of.name, c.Args...)
	cmd.Env = of.env
	cmd.Stdin, cmd.Stdout, cmd.Stderr = c.Stdin, c.Stdout, c.Stderr
	cmd.WaitDelay = grace
	apart(cmd)
	err := cmd.Run()
	if exit, ok := errors.AsType[*exec.ExitError](err); ok {
		return &ExitError{Status: exit.ExitCode()}
	}
	return err
}

func itoa(n int) string { return strconv.Itoa(n) }
