//go:build unix && !linux

package child

import (
	"context"
	"os"
	"os/exec"
	"syscall"
)

// spawn starts every process of every Child. Without a parent-death signal it
// does not matter from which thread; the lifeline ends the children.
var spawn spawner

type spawner struct{}

func (spawner) acquire() {}

func (spawner) release() {}

func (spawner) start(cmd *exec.Cmd) error { return cmd.Start() }

func procAttr(bool) *syscall.SysProcAttr { return &syscall.SysProcAttr{Setpgid: true} }

// reap waits until the process has ended and been reaped, then calls ended. In
// between, its pid could be reused; only a system that hands out all its pids
// within microseconds would do so.
func reap(cmd *exec.Cmd, ended func()) error {
	err := cmd.Wait()
	ended()
	return err
}

// AwaitStopped does nothing: this system reports a stop once, to the caller that waits for the end of the process.
func AwaitStopped(context.Context, int) {}

func self() (string, error) { return os.Executable() }
