package property

import (
	"github.com/vmware/govmomi/simulator"
	"github.com/vmware/govmomi/vim25/methods"
	"github.com/vmware/govmomi/vim25/mo"
	"github.com/vmware/govmomi/vim25/soap"
	"github.com/vmware/govmomi/vim25/types"
)

// PropertyFilter is the managed object of a filter. It never changes; what it
// selected is kept in the collector. It is created by CreateFilter.
type PropertyFilter struct { //nolint:revive // as PropertyCollector
	mo.PropertyFilter

	collector *collector
}

// DestroyPropertyFilter removes the filter. What it had not delivered is
// dropped.
func (f *PropertyFilter) DestroyPropertyFilter(ctx *simulator.Context, r *types.DestroyPropertyFilter) soap.HasFault {
	f.collector.removeFilter(f.Self)
	ctx.Session.Remove(ctx, r.This)
	return &methods.DestroyPropertyFilterBody{Res: new(types.DestroyPropertyFilterResponse)}
}

// Lock and Unlock do nothing. An object that brings its own lock gets no entry
// in the registry's table of locks, which vcsim never clears of session objects.
func (f *PropertyFilter) Lock() {}

// Unlock does nothing; see Lock.
func (f *PropertyFilter) Unlock() {}

// PutObject does nothing, as UpdateObject and RemoveObject. With them vcsim takes
// the filter for a listener, and removes it by reference from the registry when
// the session logs out (SessionManager.Logout): that is how the Service learns
// of a logout.
func (f *PropertyFilter) PutObject(*simulator.Context, mo.Reference) {}

// UpdateObject does nothing; see PutObject.
func (f *PropertyFilter) UpdateObject(*simulator.Context, mo.Reference, []types.PropertyChange) {}

// RemoveObject does nothing; see PutObject.
func (f *PropertyFilter) RemoveObject(*simulator.Context, types.ManagedObjectReference) {}
