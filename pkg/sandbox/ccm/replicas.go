// Package ccm runs the cloud controller managers of a sandbox, as processes or as pods: it starts, swaps, scales and stops them,
// and knows their health and their leader.
//
// Floor 3.
package ccm

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"sync"
	"time"

	"github.com/vsphere-sandbox/vsphere-sandbox/internal/child"
	"github.com/vsphere-sandbox/vsphere-sandbox/internal/coded"
	"github.com/vsphere-sandbox/vsphere-sandbox/internal/instance"
	programs "github.com/vsphere-sandbox/vsphere-sandbox/internal/program"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/event"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/sandbox/api"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/sandbox/components"
)

// Manager runs the cloud controller managers of a sandbox: [Processes] or [Pods]. Its methods may be called from any goroutine.
type Manager interface {
	// Start and Stop are a boot step. Start returns before replicas are healthy.
	Start(context.Context) error
	Stop(context.Context) error
	// Wait returns when all replicas are healthy, or an error that explains why one is not.
	Wait(context.Context) error
	// Swap replaces the program and returns when the new one is healthy.
	Swap(context.Context, api.CCMRequest) (api.Done, error)
	// Restart ends all replicas, starts them again and returns when they are healthy.
	Restart(context.Context) (api.Done, error)
	// Scale changes the number of replicas. It returns before new ones are healthy.
	Scale(ctx context.Context, replicas int) error

	// ConfigChanged notes that vsphere.conf changes. NeedsRestart restarts the replicas after such a change. Its cause is the
	// event by which the provider reports that it reads the change only at a start.
	ConfigChanged()
	NeedsRestart(cause uint64)

	// Running returns the program that runs.
	Running() Options
	// Has reports whether a component is a replica. Child returns its process, nil for a pod.
	Has(component string) bool
	Child(component string) *child.Child
	// Count returns the number of replicas.
	Count() int
	// Leader returns the component that leads, "" if none is known.
	Leader() string
	// Describe adds program, health and leader to the rows of replicas.
	Describe(rows []api.Component)
}

// Replicas is what [Processes] and [Pods] have in common: the replicas and their state. Set the exported fields before Start.
type Replicas struct {
	Options    Options
	Log        *event.Log
	Logger     *slog.Logger
	Dir        *instance.Dir
	Components *components.Registry
	// Ready returns an error if the sandbox is in no state to change replicas.
	Ready func() error
	// StartTime bounds how long a replica takes to become healthy; 0 is a minute.
	StartTime time.Duration

	changing sync.Mutex // held while replicas are started, replaced or stopped

	mu      sync.Mutex
	running Options
	list    []*replica
	changed chan struct{} // closed and replaced when the state of a replica changes
	stopped bool          // no replica may start
	// failedBuild says that the newest build of a watched program did not start, and an older one runs.
	failedBuild string
	// configChanged: vsphere.conf has changed since the last restart for such a change.
	configChanged bool
}

// replica is one cloud controller manager. [Replicas.mu] guards its fields but name and port.
type replica struct {
	name string // of the component
	port string // of a process
	// health is a process's second port, for probes without TLS; "" for none.
	health string
	// child is the process. It is nil before the start, and for a pod.
	child   *child.Child
	started time.Time
	logFrom int64 // where its log begins in the file: other replicas have written the part before
	healthy bool
	reason  string // why it is not healthy
	// exits counts the exits since the start, exit describes the last one.
	exits int
	exit  string
	leads bool
}

// errStopping is returned while the sandbox stops.
var errStopping = errors.New("the sandbox is stopping")

// update changes the state of replicas and wakes [Replicas.Wait].
func (r *Replicas) update(f func()) {
	r.mu.Lock()
	defer r.mu.Unlock()
	f()
	if r.changed != nil {
		close(r.changed)
		r.changed = nil
	}
}

// change returns a channel that is closed by the next update. The caller holds the lock.
func (r *Replicas) change() <-chan struct{} {
	if r.changed == nil {
		r.changed = make(chan struct{})
	}
	return r.changed
}

// stop keeps replicas from being started, and ends [Replicas.Wait].
func (r *Replicas) stop() { r.update(func() { r.stopped = true }) }

func (r *Replicas) all() []*replica {
	r.mu.Lock()
	defer r.mu.Unlock()
	return slices.Clone(r.list)
}

func (r *Replicas) find(component string) *replica {
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, one := range r.list {
		if one.name == component {
			return one
		}
	}
	return nil
}

// Has implements [Manager].
func (r *Replicas) Has(component string) bool { return r.find(component) != nil }

// Count implements [Manager].
func (r *Replicas) Count() int { return len(r.all()) }

// Child implements [Manager].
func (r *Replicas) Child(component string) *child.Child {
	one := r.find(component)
	if one == nil {
		return nil
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	return one.child
}

// Leader implements [Manager].
func (r *Replicas) Leader() string {
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, one := range r.list {
		if one.leads {
			return one.name
		}
	}
	return ""
}

// Running implements [Manager].
func (r *Replicas) Running() Options {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.running
}

// ConfigChanged implements [Manager].
func (r *Replicas) ConfigChanged() {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.configChanged = true
}

// Describe implements [Manager].
func (r *Replicas) Describe(rows []api.Component) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for i := range rows {
		for _, one := range r.list {
			if rows[i].Name != one.name {
				continue
			}
			p := r.running.Program
			rows[i].Source, rows[i].Version, rows[i].Digest, rows[i].Leader = p.Source, p.Version, p.Digest, one.leads
			rows[i].FailedBuild = r.failedBuild
			if rows[i].Health = "healthy"; !one.healthy {
				rows[i].Health = one.reason
			}
		}
	}
}

// startTime returns how long a replica may take to become healthy, even on a busy host.
func (r *Replicas) startTime() time.Duration {
	if r.StartTime > 0 {
		return r.StartTime
	}
	return time.Minute
}

// Wait implements [Manager].
func (r *Replicas) Wait(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, r.startTime())
	defer cancel()
	for {
		var waiting *replica
		exit := ""
		r.mu.Lock()
		for _, one := range r.list {
			if !one.healthy {
				waiting = one
			}
			if one.exits >= 2 { // one exit may be an accident
				exit = one.exit
			}
		}
		stopped, changed := r.stopped, r.change()
		r.mu.Unlock()
		switch {
		case stopped:
			return errStopping
		case exit != "":
			return errors.New(exit)
		case waiting == nil:
			return nil
		}
		select {
		case <-changed:
		case <-ctx.Done():
			if errors.Is(ctx.Err(), context.DeadlineExceeded) {
				return errors.New(r.neverHealthy(waiting))
			}
			return context.Cause(ctx)
		}
	}
}

// neverHealthy describes a replica that does not become healthy, with the end of its log.
func (r *Replicas) neverHealthy(one *replica) string {
	r.mu.Lock()
	text := fmt.Sprintf("%s: not healthy %s after its start: %s", one.name, time.Since(one.started).Round(time.Second), one.reason)
	r.mu.Unlock()
	if words := child.LastWords(child.LogTail(r.Dir.Log(one.name), one.logFrom)); words != "" {
		return text + "; its last words: " + words
	}
	return text + "; it has logged nothing"
}

// event logs an event about the cloud controller manager.
func (r *Replicas) event(level event.Level, kind string, cause uint64, message string) uint64 {
	return r.Log.Append(event.Event{
		Plane: event.PlaneSandbox, Level: level, Kind: kind, Cause: cause, Object: event.Object{Kind: "Component", Name: Component}, Message: message,
	})
}

func notHealthy(format string, args ...any) *api.Error {
	e := api.Conflict(format, args...)
	e.Try = "vsphere-sandbox logs " + Component
	return e
}

// checkReplicas refuses a number of replicas that is out of range.
func checkReplicas(n, least int) error {
	if n < least || n > MaxReplicas {
		return &api.Error{Code: "invalid", Message: fmt.Sprintf("replicas: %d, want 1 to %d", n, MaxReplicas)}
	}
	return nil
}

// requested returns the options of a request whose program can be run.
func requested(ctx context.Context, r api.CCMRequest) (Options, error) {
	if err := checkReplicas(r.Replicas, 0); err != nil {
		return Options{}, err
	}
	next := Options{Args: r.Args, Env: r.Env, Replicas: r.Replicas}
	if r.Path == "" {
		return next.WithDefaults(), nil
	}
	source, err := programs.CCM.Parse("file:" + r.Path)
	if err == nil {
		next.Program, err = source.Resolve(ctx, programs.Options{})
	}
	if invalid, ok := errors.AsType[*coded.Error](err); ok {
		return Options{}, &api.Error{Code: "invalid", Message: invalid.Error(), Try: invalid.Try}
	} else if err != nil {
		return Options{}, err
	}
	if r.Source != "" {
		next.Program.Source = r.Source
	}
	if r.Version != "" {
		next.Program.Version = r.Version
	}
	if r.Digest != "" {
		next.Program.Digest = r.Digest
	}
	return next.WithDefaults(), nil
}
