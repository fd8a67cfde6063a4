package kind

import (
	"context"
	"errors"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/cluster/kind/runtime"
)

// daemon is a runtime with containers that a test changes.
type daemon struct {
	mu     sync.Mutex
	down   bool
	status map[string]string // by container; none is one that is gone
	events chan string
}

func (d *daemon) set(change func()) {
	d.mu.Lock()
	defer d.mu.Unlock()
	change()
}

func (d *daemon) Run(ctx context.Context, c runtime.Call) error {
	fail := func(said string) error {
		_, _ = c.Stderr.Write([]byte(said))
		return &runtime.ExitError{Status: 1}
	}
	d.mu.Lock()
	down, status := d.down, d.status[c.Args[len(c.Args)-1]]
	d.mu.Unlock()
	switch {
	case down:
		return fail("Cannot connect to the Docker daemon at unix:///x. Is the docker daemon running?")
	case c.Args[0] == "events":
		for {
			select {
			case e, ok := <-d.events:
				if !ok {
					return &runtime.ExitError{Status: 1}
				}
				_, _ = c.Stdout.Write([]byte(e + "\n"))
			case <-ctx.Done():
				return ctx.Err()
			}
		}
	case status == "":
		return fail("Error response from daemon: No such container: x")
	}
	_, err := c.Stdout.Write([]byte(`[{"State":{"Status":"` + status + `"}}]`))
	return err
}

func event(action, container string) string {
	return `{"Action":"` + action + `","Actor":{"Attributes":{"name":"` + container + `"}}}`
}

const head1, work1, work2 = "vsphere-sandbox-demo-control-plane", "vsphere-sandbox-demo-worker", "vsphere-sandbox-demo-worker2"

// watched runs Watch on a daemon; told returns what was told since the last time, as "node action".
func watched(t *testing.T, name string, d *daemon) (told func() []string, end func()) {
	opts := planned(t, "single")
	opts.Runtime = runtime.With(name, d)
	c, err := New(opts)
	if err != nil {
		t.Fatal(err)
	}
	var mu sync.Mutex
	var got []string
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan error)
	go func() {
		ended <- c.Watch(ctx, func(e Event) {
			mu.Lock()
			defer mu.Unlock()
			got = append(got, strings.TrimSpace(strings.TrimPrefix(e.Node, "vsphere-sandbox-demo-")+" "+e.Action))
		})
	}()
	told = func() []string {
		synctest.Wait()
		mu.Lock()
		defer mu.Unlock()
		all := got
		got = nil
		return all
	}
	return told, func() {
		cancel()
		if err := <-ended; !errors.Is(err, context.Canceled) {
			t.Errorf("ended with %v", err)
		}
	}
}

func TestWatch(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d := &daemon{events: make(chan string), status: map[string]string{head1: "running", work1: "paused", work2: "exited"}}
		told, end := watched(t, "docker", d)
		expect := func(want ...string) {
			t.Helper()
			if diff := cmp.Diff(want, told()); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		}
		expect("control-plane is-running", "worker-1 is-paused", "worker-2 is-exited")
		d.events <- event("unpause", work1)
		d.events <- event("start", work2)
		d.events <- event("exec_create: true", work2)
		d.events <- event("start", "somebody-else")
		expect("worker-1 unpause", "worker-2 start", "worker-2 exec_create: true")
		// The daemon stops, and comes back without one of the containers.
		d.set(func() {
			d.down = true
			d.status = map[string]string{head1: "running", work2: "running"}
		})
		close(d.events)
		time.Sleep(3 * time.Second)
		expect("runtime-lost")
		d.set(func() { d.down, d.events = false, make(chan string) })
		time.Sleep(3 * time.Second)
		expect("runtime-back", "worker-1 is-gone")
		end()
	})
}

// nerdctl's events name no containers.
func TestWatchLooksAgainWithNerdctl(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d := &daemon{status: map[string]string{head1: "running", work1: "running", work2: "running"}}
		told, end := watched(t, "nerdctl", d)
		told()
		d.set(func() { d.status[work2] = "exited" })
		time.Sleep(2 * time.Second)
		if diff := cmp.Diff([]string{"worker-2 is-exited"}, told()); diff != "" {
			t.Errorf("(-want +got):\n%s", diff)
		}
		end()
	})
}
