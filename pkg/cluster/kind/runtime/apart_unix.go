//go:build unix

package runtime

import (
	"os/exec"
	"syscall"
)

// apart starts the program in a new process group, so that Ctrl-C in a terminal reaches only the sandbox: its cleanup
// needs the runtime's commands.
func apart(cmd *exec.Cmd) { cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true} }
