package runtime

import (
	"context"
	"errors"
	"os/exec"
	"strconv"
	"time"
)

// command runs the program of that name, with this process's environment.
type command string

// grace is how long a program that was told to end may take, and what it has left behind may hold its output.
const grace = 5 * time.Second

func (name command) Run(ctx context.Context, c Call) error {
	cmd := exec.CommandContext(ctx, string(name), c.Args...)
	cmd.Stdin, cmd.Stdout, cmd.Stderr = c.Stdin, c.Stdout, c.Stderr
	cmd.WaitDelay = grace
	apart(cmd)
	err := cmd.Run()
	var exit *exec.ExitError
	if errors.As(err, &exit) {
		return &ExitError{Status: exit.ExitCode()}
	}
	return err
}

func itoa(n int) string { return strconv.Itoa(n) }
