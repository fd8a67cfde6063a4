// Package components keeps the processes that a sandbox consists of: their rows, their journal, and the proxies by which
// they reach the API server.
//
// Floor 3.
package components

import (
	"cmp"
	"fmt"
	"log/slog"
	"maps"
	"math"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/vsphere-sandbox/vsphere-sandbox/internal/child"
	"github.com/vsphere-sandbox/vsphere-sandbox/internal/instance"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/cluster/deploy"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/event"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/sandbox/api"
)

// Cache gets the rows of components.
type Cache interface {
	SetComponent(row api.Component)
	DeleteComponent(name string)
}

// Registry keeps the state of every component, a child or a container of a pod: it sets their rows, logs what becomes of
// them, and writes the journal by which a later command cleans up after a sandbox that was killed.
type Registry struct {
	// Command prefixes the arguments of children that are this program.
	Command []string
	Dir     *instance.Dir
	Log     *event.Log
	Logger  *slog.Logger
	Cache   Cache
	// Describe adds to rows what other parts know of their components.
	Describe func(rows []api.Component)
	// Crashed is called when a child has exited, with how often it did; [math.MaxInt] for one that could not be started.
	Crashed func(times int, text string)

	mu   sync.Mutex
	list map[string]*api.Component
	// frozen are those that are suspended: so is what is started in their place.
	frozen map[string]bool
	// because is the event from which the next change of a component comes.
	because map[string]uint64
}

// open makes the maps. The caller holds the lock.
func (c *Registry) open() {
	if c.list == nil {
		c.list, c.frozen, c.because = map[string]*api.Component{}, map[string]bool{}, map[string]uint64{}
	}
}

// Spec completes the spec of a child: its log, and how it is called.
func (c *Registry) Spec(spec child.Spec) child.Spec {
	if spec.Path == "" {
		spec.Args = append(slices.Clone(c.Command), spec.Args...)
	}
	spec.LogPath = c.Dir.Log(spec.Name)
	spec.StopGrace = 2 * time.Second
	return spec
}

// Notify is given to every child.
func (c *Registry) Notify(ch child.Change) {
	c.Note(ch, event.Object{Kind: "Component", Name: ch.Name}, 0)
}

// Note records a change of the child of an object. Cause is the event that caused it; 0 for none.
func (c *Registry) Note(ch child.Change, object event.Object, cause uint64) {
	if seq := c.explained(ch); seq != 0 {
		cause = seq
	}
	e := event.Event{Plane: event.PlaneSandbox, Object: object, Cause: cause}
	why := ""
	if ch.State == child.Exited {
		why = child.ExitText(ch, c.Dir.Log(ch.Name))
	}
	c.mu.Lock()
	row := c.list[ch.Name]
	if row == nil {
		row = &api.Component{Name: ch.Name, Log: c.Dir.Log(ch.Name)}
		c.open()
		c.list[ch.Name] = row
	}
	row.Since = time.Now()
	switch ch.State {
	case child.Started:
		row.State, row.PID, row.Message = "running", ch.PID, ""
		if c.frozen[ch.Name] {
			row.State = suspended
		}
		e.Kind, e.Message = "child.started", fmt.Sprintf("%s: started, pid %d", ch.Name, ch.PID)
		c.journal(ch)
	case child.Exited:
		row.State, row.PID, row.Message = "backing-off", 0, why
		e.Level, e.Kind, e.Message = event.Error, "child.exited", why
		c.journal(ch)
	case child.Restarting:
		row.Restarts++
		e.Level, e.Kind = event.Warning, "child.restarting"
		e.Message = fmt.Sprintf("%s: starts again in %s", ch.Name, ch.Backoff.Round(time.Millisecond))
	case child.Stopped:
		row.State, row.PID = "stopped", 0
		delete(c.frozen, ch.Name)
		e.Kind, e.Message = "child.stopped", ch.Name+": stopped"
		if ch.Err != nil { // it had to be killed
			e.Level, e.Message = event.Warning, ch.Err.Error()
		}
		c.journal(ch)
	}
	c.set(*row)
	crashes := row.Restarts + 1
	if ch.PID == 0 {
		crashes = math.MaxInt // it could not even be started, and there is no luck in that
	}
	c.mu.Unlock()
	if e.Kind != "" {
		c.leads(ch, c.Log.Append(e))
	}
	if ch.State == child.Exited {
		c.Crashed(crashes, e.Message)
	}
}

func (c *Registry) journal(ch child.Change) {
	if ch.PID == 0 {
		return
	}
	var err error
	if ch.State == child.Started {
		err = c.Dir.Journal().Started(ch.Name, ch.PID)
	} else {
		err = c.Dir.Journal().Exited(ch.Name, ch.PID)
	}
	if err != nil {
		c.Logger.Error("journal", "component", ch.Name, "err", err)
	}
}

// set sets a row with all that is known of the component. The caller holds the lock: rows are set in the order in which
// they came to be.
func (c *Registry) set(row api.Component) {
	rows := []api.Component{row}
	c.Describe(rows)
	c.Cache.SetComponent(rows[0])
}

// Changed sets the row of a component when Describe has something new to add.
func (c *Registry) Changed(name string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if row := c.list[name]; row != nil {
		c.set(*row)
	}
}

// All lists the components by name.
func (c *Registry) All() []api.Component {
	c.mu.Lock()
	defer c.mu.Unlock()
	rows := make([]api.Component, 0, len(c.list))
	for _, name := range slices.Sorted(maps.Keys(c.list)) {
		rows = append(rows, *c.list[name])
	}
	return rows
}

// Rows lists the components by name, with what Describe adds.
func (c *Registry) Rows() []api.Component {
	rows := c.All()
	c.Describe(rows)
	return rows
}

// Forget removes a component that is gone for good.
func (c *Registry) Forget(name string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	delete(c.list, name)
	c.Cache.DeleteComponent(name)
}

// SetPod keeps the row of a component that is a container of a pod.
func (c *Registry) SetPod(is deploy.Change) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if is.State == deploy.Gone {
		delete(c.list, is.Component)
		c.Cache.DeleteComponent(is.Component)
		return
	}
	row := &api.Component{Name: is.Component, Log: c.Dir.Log(is.Component), Restarts: is.Restarts, Since: time.Now()}
	if old := c.list[is.Component]; old != nil {
		row.Since = old.Since
	}
	switch is.State {
	case deploy.Running:
		row.State, row.Since = "running", cmp.Or(is.Started, row.Since)
		if c.frozen[is.Component] {
			row.State = suspended
		}
	case deploy.Exited:
		row.State, row.Message = "backing-off", PodText(is)
	default:
		row.State, row.Message = "starting", PodText(is)
	}
	c.open()
	c.list[is.Component] = row
	c.set(*row)
}

// PodText says how a component is that does not run.
func PodText(c deploy.Change) string {
	words := []string{c.Component}
	if c.State == deploy.Exited {
		words = append(words, fmt.Sprintf("exit status %d", c.ExitCode))
	}
	for _, w := range []string{c.Reason, c.Message} {
		if w != "" && !slices.Contains(words, w) {
			words = append(words, w)
		}
	}
	return strings.Join(words, ": ")
}

// suspended is the state of a component that was stopped where it stands.
const suspended = "suspended"

// Expect sets the event that is the cause of what the component does next: it exits, because it was killed.
func (c *Registry) Expect(component string, seq uint64) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.open()
	c.because[component] = seq
}

// explained returns the event that a change comes from, 0 when none is known. Who stops a component for good says so
// itself.
func (c *Registry) explained(ch child.Change) uint64 {
	if ch.State == child.Stopped {
		return 0
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.because[ch.Name]
}

// leads notes what the event of a change, seq, brings about: what exits is announced to start again, and starts.
func (c *Registry) leads(ch child.Change, seq uint64) {
	c.mu.Lock()
	defer c.mu.Unlock()
	switch ch.State {
	case child.Exited, child.Restarting:
		c.open()
		c.because[ch.Name] = seq
	default:
		delete(c.because, ch.Name)
	}
}

// Freeze notes that a component was suspended or resumed. It returns false if it was so before.
func (c *Registry) Freeze(component string, frozen bool) (changed bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	changed = c.frozen[component] != frozen
	if frozen {
		c.open()
		c.frozen[component] = true
	} else {
		delete(c.frozen, component)
	}
	row := c.list[component]
	switch {
	case row == nil || row.PID == 0:
	case frozen:
		row.State = suspended
	case row.State == suspended:
		row.State = "running"
	}
	if row != nil {
		c.set(*row)
	}
	return changed
}

// Suspend suspends a child. It returns false if the child was suspended before.
func (c *Registry) Suspend(ch *child.Child) (changed bool, err error) {
	if err := ch.Suspend(); err != nil {
		return false, err
	}
	return c.Freeze(ch.Name(), true), nil
}

// Resume resumes a child that was suspended.
func (c *Registry) Resume(ch *child.Child) (changed bool, err error) {
	if err := ch.Resume(); err != nil {
		return false, err
	}
	return c.Freeze(ch.Name(), false), nil
}

// ClearCause clears the cause of the next changes of a component: it has started, and later changes have other causes.
func (c *Registry) ClearCause(component string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	delete(c.because, component)
}

// Cause is the event that was set as the cause of what a component does next; 0 when none was.
func (c *Registry) Cause(component string) uint64 {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.because[component]
}
