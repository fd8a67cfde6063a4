package machine

import (
	"context"
	"maps"
	"slices"
	"sync"
	"time"

	"github.com/vsphere-sandbox/vsphere-sandbox/internal/backoff"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/cluster/kind/runtime"
)

// Events is what a [Watch] asks of a container runtime; [runtime.Runtime] has it.
type Events interface {
	Events(ctx context.Context, label, value string, since time.Time, got func(runtime.Event)) error
}

var _ Events = (*runtime.Runtime)(nil)

// Watch follows what happens to the containers of a cluster, and has their Machines look: one process of the runtime's command for
// all of them. Make it with [NewWatch] and give it a goroutine with [Watch.Run]; its other methods are for Machines.
type Watch struct {
	events       Events
	label, value string

	mu    sync.Mutex
	last  int
	bells map[int]bell
}

type bell struct {
	container string
	ring      func()
}

// NewWatch watches the containers that have the label with that value.
func NewWatch(events Events, label, value string) *Watch {
	return &Watch{events: events, label: label, value: value, bells: map[int]bell{}}
}

// healthy is how long a stream of events lasts that has not failed at once.
const healthy = 30 * time.Second

// Run follows events until ctx ends. When there are none to be had, as with a daemon that is away, it tries again after a while;
// each time all machines look, for what happened to the daemon has happened to all containers.
func (w *Watch) Run(ctx context.Context) {
	failures, since := 0, time.Now()
	for {
		began := time.Now()
		_ = w.events.Events(ctx, w.label, w.value, since, w.got) // why it ended the machines see, when they look
		since = time.Now()
		if since.Sub(began) >= healthy {
			failures = 0
		}
		w.ring("")
		failures++
		if backoff.Sleep(ctx, retries().After(failures)) != nil {
			return
		}
	}
}

// got rings for what changes the state of a container; others are told of what is run in it.
func (w *Watch) got(e runtime.Event) {
	if slices.Contains([]string{"start", "die", "died", "stop", "pause", "unpause", "destroy", "remove", "oom"}, e.Action) {
		w.ring(e.Container)
	}
}

// ring rings for a container; empty is all.
func (w *Watch) ring(container string) {
	w.mu.Lock()
	all := slices.Collect(maps.Values(w.bells))
	w.mu.Unlock()
	for _, b := range all {
		if container == "" || container == b.container {
			b.ring()
		}
	}
}

// add has ring called until forget is.
func (w *Watch) add(container string, ring func()) (forget func()) {
	if w == nil {
		return func() {}
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	w.last++
	id := w.last
	w.bells[id] = bell{container, ring}
	return func() {
		w.mu.Lock()
		defer w.mu.Unlock()
		delete(w.bells, id)
	}
}
