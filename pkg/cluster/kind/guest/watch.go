package guest

import (
	"context"
	"maps"
	"slices"
	"sync"
	"time"

	"github.com/vsphere-sandbox/vsphere-sandbox/internal/backoff"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/cluster/kind/runtime"
)

// Events is the part of a container runtime that a [Watch] uses.
type Events interface {
	Events(ctx context.Context, label, value string, since time.Time, got func(runtime.Event)) error
}

var _ Events = (*runtime.Runtime)(nil)

// Watch follows the events of a cluster's containers, with one process of the runtime's command, and wakes their
// Machines. Create it with [NewWatch] and call [Watch.Run] in a goroutine.
type Watch struct {
	events       Events
	label, value string

	mu          sync.Mutex
	last        int
	subscribers map[int]subscriber
}

type subscriber struct {
	container string
	wake      func()
}

// NewWatch returns a Watch for the containers that have the label with this value.
func NewWatch(events Events, label, value string) *Watch {
	return &Watch{events: events, label: label, value: value, subscribers: map[int]subscriber{}}
}

// healthy is the time after which a stream of events, or a container, counts as not failed at once.
const healthy = 30 * time.Second

// Run follows events until ctx ends. When the stream ends, as with a stopped daemon, it retries with a back-off and wakes
// all Machines, since all containers may have changed.
func (w *Watch) Run(ctx context.Context) {
	failures, since := 0, time.Now()
	for {
		began := time.Now()
		_ = w.events.Events(ctx, w.label, w.value, since, w.got) // the Machines see the cause when they inspect
		since = time.Now()
		if since.Sub(began) >= healthy {
			failures = 0
		}
		w.notify("")
		failures++
		if backoff.Sleep(ctx, retries().After(failures)) != nil {
			return
		}
	}
}

// got wakes the Guest of an event that changes a container's state; exec events, among others, do not.
func (w *Watch) got(e runtime.Event) {
	if slices.Contains([]string{"start", "die", "died", "stop", "pause", "unpause", "destroy", "remove", "oom"}, e.Action) {
		w.notify(e.Container)
	}
}

// notify wakes the subscribers of a container; empty means all.
func (w *Watch) notify(container string) {
	w.mu.Lock()
	all := slices.Collect(maps.Values(w.subscribers))
	w.mu.Unlock()
	for _, s := range all {
		if container == "" || container == s.container {
			s.wake()
		}
	}
}

// add subscribes to a container's events until forget is called.
func (w *Watch) add(container string, wake func()) (forget func()) {
	if w == nil {
		return func() {}
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	w.last++
	id := w.last
	w.subscribers[id] = subscriber{container, wake}
	return func() {
		w.mu.Lock()
		defer w.mu.Unlock()
		delete(w.subscribers, id)
	}
}
