//go:build unix

package runtime

import (
	"os/exec"
	"syscall"
)

// apart gives the program a process group of its own: Ctrl-C in a terminal is for the sandbox, which then ends what it has
// to, and needs the runtime for that.
func apart(cmd *exec.Cmd) { cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true} }
