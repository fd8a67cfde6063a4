package kind

import (
	"context"
	"time"

	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/cluster/kind/runtime"
)

// Event is something that has happened to a node's container, or to the runtime.
type Event struct {
	// Node is the node's name; "" when the event is about the runtime as a whole.
	Node, Container string
	// Action is docker's word (start, die, kill, stop, pause, unpause, destroy and more), or one of those below.
	Action string
	// ExitCode is that of a container that died, "" otherwise.
	ExitCode string
	Time     time.Time
}

// Actions that no runtime tells of.
const (
	// Lost is that the runtime no longer tells: its daemon has stopped. Back is that it does again; what has happened to a
	// node meanwhile follows as its Running, Paused, Exited or Gone, which also come first of all.
	Lost = "runtime-lost"
	Back = "runtime-back"

	Running = "is-running"
	Paused  = "is-paused"
	Exited  = "is-exited"
	Gone    = "is-gone"
)

// relisten is how long to wait before a runtime that has stopped telling is asked again.
const relisten = time.Second

// Watch calls got, on one goroutine, with how each node is, and then with all that happens to the nodes, until ctx ends, whose
// error it returns. It outlives a restart of the runtime's daemon. What happens as it begins may be told twice, as the state
// and as the event.
func (c *Cluster) Watch(ctx context.Context, got func(Event)) error {
	w := watch{cluster: c, got: got, state: map[string]string{}}
	for {
		since := time.Now() // what happens between the look and the listening is replayed
		if w.look(ctx) && c.rt.Kind() != "nerdctl" {
			// nerdctl's events name no containers: there it is looked at again and again. Why the events end is of no interest:
			// the next look shows whether the daemon is there.
			_ = c.rt.Events(ctx, clusterLabel, c.Name(), since, w.event)
		}
		select {
		case <-ctx.Done():
			return context.Cause(ctx)
		case <-time.After(relisten):
		}
	}
}

// watch is one call of [Cluster.Watch].
type watch struct {
	cluster *Cluster
	got     func(Event)
	state   map[string]string // of containers, as far as it was told
	lost    bool
}

// look asks how all nodes are and tells what has changed; false when the runtime does not answer.
func (w *watch) look(ctx context.Context) bool {
	now := map[string]string{}
	for _, m := range w.cluster.machines {
		known, err := w.cluster.rt.Inspect(ctx, m.container)
		switch {
		case ctx.Err() != nil:
			return false
		case runtime.Is(err, runtime.ContainerMissing):
			now[m.container] = Gone
		case err != nil:
			if !w.lost {
				w.lost = true
				w.got(Event{Action: Lost, Time: time.Now()})
			}
			return false
		case known.Status == "paused":
			now[m.container] = Paused
		case known.Running():
			now[m.container] = Running
		default:
			now[m.container] = Exited
		}
	}
	if w.lost {
		w.lost = false
		w.got(Event{Action: Back, Time: time.Now()})
	}
	for _, m := range w.cluster.machines {
		if s := now[m.container]; s != w.state[m.container] {
			w.state[m.container] = s
			w.got(Event{Node: m.Name, Container: m.container, Action: s, Time: time.Now()})
		}
	}
	return true
}

func (w *watch) event(e runtime.Event) {
	for _, m := range w.cluster.machines {
		if m.container != e.Container {
			continue
		}
		if s := after(e.Action); s != "" {
			w.state[e.Container] = s
		}
		w.got(Event{Node: m.Name, Container: e.Container, Action: e.Action, ExitCode: e.ExitCode, Time: e.Time})
	}
}

// after is the state that a container is in after an action of docker's or podman's, "" when it is the same as before.
func after(action string) string {
	switch action {
	case "start", "unpause":
		return Running
	case "pause":
		return Paused
	case "die", "died":
		return Exited
	case "destroy", "remove":
		return Gone
	}
	return ""
}
