package child

import (
	"fmt"
	"io"
	"os"
	"strconv"

	"golang.org/x/sys/unix"
)

// LifelineEnv is the environment variable that gives a child the number of the
// file descriptor of its lifeline: the reading end of a pipe to which nothing
// is written, and whose other end is closed by the parent's death, whatever
// the parent died of.
const LifelineEnv = "VSPHERE_SANDBOX_LIFELINE"

// Lifeline ties this process to the parent that started it as a [Child]: when
// the parent is gone, exit(1) is called, from a goroutine that lives as long as
// the process. Main passes os.Exit, early and once. In a process that is no
// child it does nothing. The variable is removed from the environment and the
// descriptor kept from processes started later, to which it means nothing.
//
// On Linux the kernel kills children in any case, and did so even if they were
// suspended; elsewhere, this is what ends them.
func Lifeline(exit func(code int)) error {
	value, ok := os.LookupEnv(LifelineEnv)
	if !ok {
		return nil
	}
	fd, err := strconv.Atoi(value)
	if err != nil || fd < 3 {
		return fmt.Errorf("%s=%q is not a file descriptor", LifelineEnv, value)
	}
	var stat unix.Stat_t
	if err := unix.Fstat(fd, &stat); err != nil {
		return fmt.Errorf("%s=%d: %w", LifelineEnv, fd, err)
	}
	if stat.Mode&unix.S_IFMT != unix.S_IFIFO {
		return fmt.Errorf("%s=%d is not a pipe", LifelineEnv, fd)
	}
	unix.CloseOnExec(fd)
	if err := unix.SetNonblock(fd, true); err != nil { // so that waiting costs no thread
		return fmt.Errorf("%s=%d: %w", LifelineEnv, fd, err)
	}
	if err := os.Unsetenv(LifelineEnv); err != nil {
		return err
	}
	pipe := os.NewFile(uintptr(fd), "lifeline")
	go func() {
		defer pipe.Close()
		_, _ = io.Copy(io.Discard, pipe) // returns at the end of file; an error is no better a sign of life
		exit(1)
	}()
	return nil
}
