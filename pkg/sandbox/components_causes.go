package sandbox

import "github.com/vsphere-sandbox/vsphere-sandbox/internal/child"

// suspended is the state of a component that was stopped where it stands.
const suspended = "suspended"

// expect names the event that is the cause of what the component does next: it exits, because it was killed.
func (c *components) expect(component string, seq uint64) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.because[component] = seq
}

// explained returns the event that a change comes from, 0 when none is known. Who stops a component for good says so
// itself.
func (c *components) explained(ch child.Change) uint64 {
	if ch.State == child.Stopped {
		return 0
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.because[ch.Name]
}

// leads notes what the event of a change, seq, brings about: what exits is announced to start again, and starts.
func (c *components) leads(ch child.Change, seq uint64) {
	c.mu.Lock()
	defer c.mu.Unlock()
	switch ch.State {
	case child.Exited, child.Restarting:
		c.because[ch.Name] = seq
	default:
		delete(c.because, ch.Name)
	}
}

// freeze says that a component was stopped where it stands, or goes on; changed, that this is news.
func (c *components) freeze(component string, frozen bool) (changed bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	changed = c.frozen[component] != frozen
	if frozen {
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
		c.tell(*row)
	}
	return changed
}

// suspend stops a child where it stands; changed says that it was not stopped before.
func (c *components) suspend(ch *child.Child) (changed bool, err error) {
	if err := ch.Suspend(); err != nil {
		return false, err
	}
	return c.freeze(ch.Name(), true), nil
}

// resume lets a child that was stopped go on.
func (c *components) resume(ch *child.Child) (changed bool, err error) {
	if err := ch.Resume(); err != nil {
		return false, err
	}
	return c.freeze(ch.Name(), false), nil
}
