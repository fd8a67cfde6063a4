package property

import (
	"slices"
	"time"

	"github.com/vmware/govmomi/simulator"
	"github.com/vmware/govmomi/vim25/mo"
	"github.com/vmware/govmomi/vim25/types"
)

// Reference identifies the Service among the listeners of the registry. It is not a managed object.
func (s *Service) Reference() types.ManagedObjectReference { return s.ref }

// The three methods below implement vcsim's simulator.RegisterObject. They run with the changed object locked, so they only
// record the change: they lock and read no object, and never wait.

// PutObject notes a new object. Called by the registry.
func (s *Service) PutObject(_ *simulator.Context, obj mo.Reference) {
	s.newborns.put(obj)
	was, moved := s.tree.put(obj)
	_, entity := obj.(mo.Entity)
	ref := obj.Reference()
	near := append(was.all(), ref)
	s.each(func(c *collector) { c.noteEnter(ref, near, entity) })
	s.noteMoved(moved)
}

// UpdateObject notes changed properties. Called by the registry.
func (s *Service) UpdateObject(_ *simulator.Context, obj mo.Reference, changes []types.PropertyChange) {
	ref := obj.Reference()
	done, effects := sideEffects(obj, changes)
	was, moved := s.tree.update(obj)
	left := was.all()
	if effects.moves {
		s.tree.doubt("HostSystem")
	}
	s.each(func(c *collector) {
		c.noteChange(ref, changes)
		if len(left) != 0 {
			c.noteMove(ref, left)
		}
		if done {
			c.noteSideEffects(effects)
		}
	})
	s.noteMoved(moved)
}

// RemoveObject notes that an object is about to be removed: it can still be found for a short time. Called by the registry; at a
// logout, and only then, also for the collectors, filters and views of the calling session, with the session's registry locked.
func (s *Service) RemoveObject(ctx *simulator.Context, ref types.ManagedObjectReference) {
	switch ref.Type {
	case "PropertyCollector", "PropertyFilter", "ContainerView", "ListView":
		if ctx != nil && ctx.Session != nil {
			s.EndSession(ctx.Session.Key)
		}
		return
	}
	was, entity, moved := s.tree.remove(ref)
	near := was.all()
	s.each(func(c *collector) { c.noteLeave(ref, near, entity) })
	s.noteMoved(moved)
}

// each calls f for the listening collectors, and puts idle ones to sleep.
func (s *Service) each(f func(*collector)) {
	listening := *s.listening.Load()
	if len(listening) == 0 {
		return
	}
	idleSince := time.Now().Add(-s.options.Idle)
	for _, c := range listening {
		if c.sleepIfIdle(idleSince) {
			s.unlisten(c)
			continue
		}
		f(c)
	}
}

func (s *Service) listen(c *collector) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if old := *s.listening.Load(); !slices.Contains(old, c) && s.collectors[c.key] == c {
		list := append(slices.Clone(old), c)
		s.listening.Store(&list)
	}
}

// unlisten removes a collector from the list, unless it was woken.
func (s *Service) unlisten(c *collector) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if !c.isAsleep() {
		return
	}
	list := slices.DeleteFunc(slices.Clone(*s.listening.Load()), func(o *collector) bool { return o == c })
	s.listening.Store(&list)
}
