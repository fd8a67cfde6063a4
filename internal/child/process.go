package child

import (
	"errors"
	"os"
	"os/exec"
	"sync"
	"sync/atomic"

	"golang.org/x/sys/unix"
)

// process is one run of a child.
type process struct {
	cmd      *exec.Cmd
	pid      int      // also the id of its process group
	lifeline *os.File // the end that must stay open as long as the process lives
	logPath  string
	logStart int64 // size of the log when the process was started

	ending atomic.Bool // it is to go, and does so by our hand

	gone chan struct{} // closed when the process has been reaped
	err  error         // how it ended; valid once gone is closed

	mu    sync.Mutex
	alive bool // pid is still this process's: it has not been reaped
}

// watch waits for the end of the process, takes along what is left of its
// group, and reaps it. It is the process's own goroutine and ends with it.
func (p *process) watch() {
	defer close(p.gone)
	p.err = reap(p.cmd, func() {
		p.mu.Lock()
		defer p.mu.Unlock()
		p.alive = false
		_ = unix.Kill(-p.pid, unix.SIGKILL) // mostly there is nothing left of it
	})
	_ = p.lifeline.Close()
}

// signalGroup sends sig to the whole group; to a process that has ended it
// does nothing. The lock keeps the pid from being reaped, and reused, meanwhile.
func (p *process) signalGroup(sig unix.Signal) error {
	p.mu.Lock()
	defer p.mu.Unlock()
	if !p.alive {
		return nil
	}
	if err := unix.Kill(-p.pid, sig); err != nil && !errors.Is(err, unix.ESRCH) {
		return err
	}
	return nil
}

// terminate asks the process, and it alone, to end: it knows best how to end
// what it started. CONT wakes it up to hear it, should it be suspended. Errors
// do not matter, KILL comes next.
func (p *process) terminate() {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.alive {
		_ = unix.Kill(p.pid, unix.SIGTERM)
		_ = unix.Kill(-p.pid, unix.SIGCONT)
	}
}

func (p *process) livePID() int {
	p.mu.Lock()
	defer p.mu.Unlock()
	if !p.alive {
		return 0
	}
	return p.pid
}

func (p *process) tail() []string {
	if p.logPath == "" {
		return nil
	}
	return readTail(p.logPath, p.logStart)
}
