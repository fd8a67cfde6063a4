package property

import (
	"github.com/vmware/govmomi/simulator"
	"github.com/vmware/govmomi/vim25/mo"
	"github.com/vmware/govmomi/vim25/types"
)

// holder is a view: an object with a changing list of others.
type holder interface {
	mo.Reference
	// holds says whether the object is on the list now.
	holds(types.ManagedObjectReference) bool
	// drop frees the view.
	drop()
}

// viewBase is what our views have in common.
type viewBase struct {
	// Self is where vcsim looks for the reference.
	Self types.ManagedObjectReference

	service *Service
	// session is the registry that the view is kept in.
	session *simulator.Registry
	// key is that of the session.
	key string
}

// Reference is the view's.
func (v *viewBase) Reference() types.ManagedObjectReference { return v.Self }

// Lock and Unlock do nothing: the views lock what they keep themselves, and are
// not locked while filters are told.
func (v *viewBase) Lock() {}

// Unlock does nothing; see Lock.
func (v *viewBase) Unlock() {}

// PutObject, UpdateObject and RemoveObject do nothing. With them vcsim takes
// the view for a listener, and removes it by reference from the registry when
// the session logs out (SessionManager.Logout): that is how the Service learns
// of a logout.
func (v *viewBase) PutObject(*simulator.Context, mo.Reference) {}

// UpdateObject does nothing; see PutObject.
func (v *viewBase) UpdateObject(*simulator.Context, mo.Reference, []types.PropertyChange) {}

// RemoveObject does nothing; see PutObject.
func (v *viewBase) RemoveObject(*simulator.Context, types.ManagedObjectReference) {}

// addView remembers a view until it is destroyed or its session ends.
func (s *Service) addView(v holder, session *simulator.Session) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.views[viewKey{session.Registry, v.Reference()}] = viewOf{v, session.UserSession}
}

type viewKey struct {
	session *simulator.Registry
	ref     types.ManagedObjectReference
}

type viewOf struct {
	holder
	session types.UserSession
}

// dropViews frees the views for which it is asked to.
func (s *Service) dropViews(dead func(viewKey, viewOf) bool) {
	var drop []viewOf
	s.mu.Lock()
	for k, v := range s.views {
		if dead(k, v) {
			drop = append(drop, v)
			delete(s.views, k)
		}
	}
	s.mu.Unlock()
	for _, v := range drop {
		v.drop()
	}
}

// destroyView takes a view out of its session.
func (s *Service) destroyView(ctx *simulator.Context, v holder) {
	ref := v.Reference()
	ctx.Session.Registry.Remove(ctx, ref)
	s.dropViews(func(k viewKey, _ viewOf) bool { return k == viewKey{ctx.Session.Registry, ref} })
	// The session's registry has no listeners: filters on the view learn it here.
	s.each(func(c *collector) {
		if c.key.session == ctx.Session.Registry {
			c.noteLeave(ref, nil, false)
		}
	})
}

// viewsOf lists the views of a session.
func (s *Service) viewsOf(session *simulator.Registry) []types.ManagedObjectReference {
	s.mu.Lock()
	defer s.mu.Unlock()
	var refs []types.ManagedObjectReference
	for k := range s.views {
		if k.session == session {
			refs = append(refs, k.ref)
		}
	}
	return refs
}
