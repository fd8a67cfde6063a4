package vcenter

import (
	"context"
	"slices"
	"strings"

	"github.com/vmware/govmomi/property"
	"github.com/vmware/govmomi/vim25/types"
)

// deliver hands an update set to the handler in the form that [Update] promises.
func (w *watch) deliver(ctx context.Context, s *Session, pc *property.Collector, set *types.UpdateSet) error {
	var batch []Update
	for _, fs := range set.FilterSet {
		for _, o := range fs.ObjectSet {
			if o.Obj == w.events {
				w.happened(o)
				continue
			}
			u := Update{Kind: Kind(o.Kind), Ref: o.Obj}
			for _, m := range o.MissingSet {
				u.Missing = append(u.Missing, m.Path)
			}
			if u.Kind == Leave {
				delete(w.seen, u.Ref)
			} else {
				w.seen[u.Ref] = w.round
				u.Changes = o.ChangeSet
			}
			batch = append(batch, u)
		}
	}
	if err := w.complete(ctx, s, pc, batch); err != nil {
		return err
	}
	if len(batch) > 0 {
		w.handler.Update(batch)
	}
	return nil
}

// complete replaces changes of parts of a property, which a vCenter may tell as `guest.net[4000].ipAddress`, by the
// property's whole value, read anew, and makes every removal a nil value.
func (w *watch) complete(ctx context.Context, s *Session, pc *property.Collector, batch []Update) error {
	for i := range batch {
		u := &batch[i]
		var reread []string
		u.Changes = slices.DeleteFunc(u.Changes, func(c types.PropertyChange) bool {
			paths, exact := w.whole(c.Name)
			if !exact {
				reread = append(reread, paths...)
			}
			return !exact
		})
		for j := range u.Changes {
			if op := u.Changes[j].Op; op == types.PropertyChangeOpRemove || op == types.PropertyChangeOpIndirectRemove {
				u.Changes[j].Val = nil
			}
		}
		if u.Kind == Modify {
			reread = append(reread, w.along(u.Changes)...)
		}
		if len(reread) == 0 {
			continue
		}
		slices.Sort(reread)
		if err := w.read(ctx, s, pc, u, slices.Compact(reread)); err != nil && !Gone(err) { // when gone, its Leave is on the way
			return err
		}
	}
	return nil
}

// along returns the paths to be read with changes that do not bring them.
func (w *watch) along(changes []types.PropertyChange) (paths []string) {
	for _, c := range changes {
		for _, path := range w.spec.Along[c.Name] {
			if !slices.ContainsFunc(changes, func(c types.PropertyChange) bool { return c.Name == path }) {
				paths = append(paths, path)
			}
		}
	}
	return paths
}

// read adds properties of one object to its update.
func (w *watch) read(ctx context.Context, s *Session, pc *property.Collector, u *Update, paths []string) error {
	var content []types.ObjectContent
	err := w.call(ctx, s, func(ctx context.Context) error {
		return pc.Retrieve(ctx, []types.ManagedObjectReference{u.Ref}, paths, &content)
	})
	if err == nil {
		u.take(paths, content)
	}
	return err
}

// take adds what was read at the given paths of one object: a nil value stands for one that is unset, one that the
// vCenter would not tell is missing.
func (u *Update) take(paths []string, content []types.ObjectContent) {
	if len(content) == 0 {
		u.Missing = append(u.Missing, paths...)
		return
	}
	for _, path := range paths {
		if slices.ContainsFunc(content[0].MissingSet, func(m types.MissingProperty) bool { return m.Path == path && !invalid(m) }) {
			u.Missing = append(u.Missing, path)
			continue
		}
		c := types.PropertyChange{Name: path, Op: types.PropertyChangeOpAssign}
		for _, p := range content[0].PropSet {
			if p.Name == path {
				c.Val = p.Val
			}
		}
		u.Changes = append(u.Changes, c)
	}
}

// invalid reports whether a path leads nowhere, as that of an option that is not set does.
func invalid(m types.MissingProperty) bool {
	_, ok := m.Fault.Fault.(*types.InvalidProperty)
	return ok
}

// whole returns the spec's paths that a change of the named property touches, and whether it is exactly one of them.
func (w *watch) whole(name string) (paths []string, exact bool) {
	for _, ps := range w.spec.Properties {
		for _, p := range ps {
			if p == name {
				return []string{p}, true
			}
			if below(name, p) || below(p, name) {
				paths = append(paths, p)
			}
		}
	}
	return paths, false
}

// below reports whether path lies below parent: "a.b" and "a[1].b" lie below "a".
func below(path, parent string) bool {
	rest, ok := strings.CutPrefix(path, parent)
	return ok && rest != "" && (rest[0] == '.' || rest[0] == '[')
}

// forget tells the objects that were there before this round and were not told in it.
func (w *watch) forget() {
	var batch []Update
	for ref, round := range w.seen {
		if round != w.round {
			delete(w.seen, ref)
			batch = append(batch, Update{Kind: Leave, Ref: ref})
		}
	}
	if len(batch) > 0 {
		w.handler.Update(batch)
	}
}
