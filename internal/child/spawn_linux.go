package child

import (
	"context"
	"errors"
	"os"
	"os/exec"
	"runtime"
	"sync"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

// spawn starts every process of every Child. It has to be one per program: the
// parent-death signal is sent when the *thread* that forked ends (prctl(2)), so
// all children must be started by a thread known to outlive them.
var spawn spawner

// spawner is a goroutine locked to its thread. It runs while there is at least
// one Child.
type spawner struct {
	mu       sync.Mutex
	users    int
	requests chan spawnRequest
	ended    chan struct{}
}

type spawnRequest struct {
	cmd  *exec.Cmd
	done chan error
}

// acquire makes sure that the goroutine runs until the matching release.
func (s *spawner) acquire() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.users++
	if s.users > 1 {
		return
	}
	requests, ended := make(chan spawnRequest), make(chan struct{})
	s.requests, s.ended = requests, ended
	go func() {
		defer close(ended)
		runtime.LockOSThread()
		defer runtime.UnlockOSThread()
		for r := range requests {
			r.done <- r.cmd.Start()
		}
	}()
}

// release ends the goroutine when the last Child, its process reaped, leaves.
func (s *spawner) release() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.users--
	if s.users == 0 {
		close(s.requests)
		<-s.ended
	}
}

// start is cmd.Start on the right thread. The caller has acquired.
func (s *spawner) start(cmd *exec.Cmd) error {
	s.mu.Lock()
	requests := s.requests
	s.mu.Unlock()
	done := make(chan error, 1)
	requests <- spawnRequest{cmd, done}
	return <-done
}

func procAttr(mounts bool) *syscall.SysProcAttr {
	a := &syscall.SysProcAttr{Setpgid: true, Pdeathsig: syscall.SIGKILL}
	if mounts {
		a.Cloneflags = syscall.CLONE_NEWNS
	}
	if uid, gid := os.Geteuid(), os.Getegid(); mounts && uid != 0 {
		a.Cloneflags |= syscall.CLONE_NEWUSER
		a.UidMappings = []syscall.SysProcIDMap{{ContainerID: 0, HostID: uid, Size: 1}}
		a.GidMappings = []syscall.SysProcIDMap{{ContainerID: 0, HostID: gid, Size: 1}}
	}
	return a
}

// reap waits until the process has ended, calls ended while its pid still
// cannot be reused, and then lets the kernel forget it.
func reap(cmd *exec.Cmd, ended func()) error {
	for {
		err := unix.Waitid(unix.P_PID, cmd.Process.Pid, nil, unix.WEXITED|unix.WNOWAIT, nil)
		if !errors.Is(err, unix.EINTR) {
			break
		}
	}
	ended()
	return cmd.Wait()
}

// AwaitStopped waits until a process that this one has started, and sent SIGSTOP, stands still with all of its threads: one that is in a
// system call first ends that. It returns earlier if the process ends, or ctx does.
func AwaitStopped(ctx context.Context, pid int) {
	tick := time.NewTicker(time.Millisecond)
	defer tick.Stop()
	for {
		var info unix.Siginfo
		err := unix.Waitid(unix.P_PID, pid, &info, unix.WSTOPPED|unix.WEXITED|unix.WNOHANG|unix.WNOWAIT, nil)
		if info.Signo != 0 || err != nil && !errors.Is(err, unix.EINTR) {
			return
		}
		select {
		case <-tick.C:
		case <-ctx.Done():
			return
		}
	}
}

// self returns a path to this very program. After a rebuild the path it was
// started by is another program, or none; /proc/self/exe still is this one,
// but makes process listings call the child "exe".
func self() (string, error) {
	const image = "/proc/self/exe"
	path, err := os.Executable()
	if err != nil {
		return image, nil
	}
	now, err := os.Stat(path)
	if err != nil {
		return image, nil
	}
	running, err := os.Stat(image)
	if err != nil {
		return path, nil
	}
	if !os.SameFile(now, running) {
		return image, nil
	}
	return path, nil
}
