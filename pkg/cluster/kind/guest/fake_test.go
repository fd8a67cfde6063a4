package guest_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/netip"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/vsphere-sandbox/vsphere-sandbox/internal/coded"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/cluster/kind/runtime"
)

// fake is a container runtime with one container, and its events.
type fake struct {
	mu     sync.Mutex
	status string // "" is none
	pid    int
	next   int
	exit   int
	calls  []string
	// down: the daemon does not answer. fail is what calls of that name return.
	down  bool
	fail  map[string]error
	bells chan runtime.Event
	took  time.Duration // each call
	// stubborn is a container that is killed only when it is not paused.
	stubborn bool
	scripts  []string
}

func newFake(status string) *fake {
	f := &fake{status: status, fail: map[string]error{}, bells: make(chan runtime.Event, 1000), next: 100}
	if status == "running" || status == "paused" {
		f.pid, f.next = f.next, f.next+1
	}
	return f
}

func (f *fake) runs() bool { return f.status == "running" || f.status == "paused" }

// do is one call that changes something; change is made under the lock.
func (f *fake) do(ctx context.Context, call string, change func() error) error {
	if f.took > 0 {
		select {
		case <-time.After(f.took):
		case <-ctx.Done():
			return ctx.Err()
		}
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	f.calls = append(f.calls, call)
	switch {
	case f.down:
		return &coded.Error{Code: runtime.Stopped, Message: "docker is installed, but nothing answers"}
	case f.fail[call] != nil:
		return f.fail[call]
	case f.status == "":
		return &coded.Error{Code: runtime.ContainerMissing, Message: "there is no such container"}
	}
	err := change()
	if err == nil {
		f.bells <- runtime.Event{Container: "c1", Action: call, Time: time.Now()}
	}
	return err
}

var errNotRunning = &coded.Error{Code: runtime.ContainerStopped, Message: "the container does not run"}

func (f *fake) ends(exit int) error {
	if !f.runs() {
		return errNotRunning
	}
	f.status, f.pid, f.exit = "exited", 0, exit
	return nil
}

func (f *fake) Inspect(context.Context, string) (runtime.Container, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.calls = append(f.calls, "inspect")
	switch {
	case f.down:
		return runtime.Container{}, &coded.Error{Code: runtime.Stopped, Message: "docker is installed, but nothing answers"}
	case f.status == "":
		return runtime.Container{}, &coded.Error{Code: runtime.ContainerMissing, Message: "there is no such container"}
	}
	return runtime.Container{
		Name: "c1", Status: f.status, PID: f.pid, ExitCode: f.exit,
		Networks: map[string]netip.Addr{"kind": netip.MustParseAddr("172.18.0.2")},
	}, nil
}

func (f *fake) Start(ctx context.Context, _ string) error {
	return f.do(ctx, "start", func() error {
		if !f.runs() {
			f.status, f.pid, f.next = "running", f.next, f.next+1
		}
		return nil
	})
}

func (f *fake) Stop(ctx context.Context, _ string, _ time.Duration) error {
	return f.do(ctx, "stop", func() error { return f.ends(130) })
}

func (f *fake) Kill(ctx context.Context, _ string) error {
	return f.do(ctx, "kill", func() error {
		if f.stubborn && f.status == "paused" {
			return &coded.Error{Code: runtime.Failed, Message: "can only kill running containers"}
		}
		return f.ends(137)
	})
}

func (f *fake) Pause(ctx context.Context, _ string) error {
	return f.do(ctx, "pause", func() error {
		if f.status != "running" {
			return errNotRunning
		}
		f.status = "paused"
		return nil
	})
}

func (f *fake) Unpause(ctx context.Context, _ string) error {
	return f.do(ctx, "unpause", func() error {
		if f.status != "paused" {
			return errNotRunning
		}
		f.status = "running"
		return nil
	})
}

func (f *fake) Exec(ctx context.Context, _ string, _ io.Reader, _, _ io.Writer, argv ...string) error {
	return f.do(ctx, "exec", func() error {
		if f.status != "running" {
			return errNotRunning
		}
		f.scripts = append(f.scripts, strings.Join(argv, " "))
		return nil
	})
}

// Events gives events until the daemon is down.
func (f *fake) Events(ctx context.Context, label, value string, _ time.Time, got func(runtime.Event)) error {
	if label != "cluster" || value != "c" {
		return fmt.Errorf("events of %s=%s", label, value)
	}
	for {
		f.mu.Lock()
		down := f.down
		f.mu.Unlock()
		if down {
			return errors.New("no daemon")
		}
		select {
		case e := <-f.bells:
			if e.Action == "down" {
				return errors.New("the daemon has ended")
			}
			got(e)
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}

// external changes the container as another process would, and sends the event.
func (f *fake) external(action string, change func()) {
	f.mu.Lock()
	change()
	f.mu.Unlock()
	f.bells <- runtime.Event{Container: "c1", Action: action}
}

// said returns the calls since the last time that change something.
func (f *fake) takeCalls() []string {
	f.mu.Lock()
	defer f.mu.Unlock()
	said := slices.DeleteFunc(f.calls, func(c string) bool { return c == "inspect" })
	f.calls = nil
	return said
}

// counted returns how many calls there were since the last time, of all kinds.
func (f *fake) counted() int {
	f.mu.Lock()
	defer f.mu.Unlock()
	n := len(f.calls)
	f.calls = nil
	return n
}

// script returns the last one that was run in the container.
func (f *fake) script() string {
	f.mu.Lock()
	defer f.mu.Unlock()
	if len(f.scripts) == 0 {
		return ""
	}
	return f.scripts[len(f.scripts)-1]
}

func (f *fake) is() string {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.status
}
