package host

import (
	"context"
	"fmt"

	"github.com/vmware/govmomi/object"
	"github.com/vmware/govmomi/simulator"
	"github.com/vmware/govmomi/vim25/types"

	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/event"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/sim/internal/vc"
)

// Fill leaves no space on the datastore: calls that would need some end in NoDiskSpace. Filling it again is harmless.
func (h *Hosts) Fill(parent context.Context, ref types.ManagedObjectReference) error {
	ctx, ds, err := h.datastore(parent, ref)
	if err != nil {
		return err
	}
	done := false
	ctx.WithLock(ds, func() {
		h.mu.Lock()
		if _, full := h.full[ref]; !full {
			h.full[ref], done = ds.Summary.FreeSpace, true
		}
		h.mu.Unlock()
		if done {
			free(ctx, ds, 0)
		}
	})
	if done {
		h.log(event.Object{Kind: "Datastore", Name: ds.Name}, ref, event.Error, "datastore.full", 0, "has no space left")
	}
	return nil
}

// Free ends [Hosts.Fill]: what was free then is free again. For a datastore that is not full it does nothing.
func (h *Hosts) Free(parent context.Context, ref types.ManagedObjectReference) error {
	ctx, ds, err := h.datastore(parent, ref)
	if err != nil {
		return err
	}
	done := false
	ctx.WithLock(ds, func() {
		h.mu.Lock()
		was, full := h.full[ref]
		delete(h.full, ref)
		h.mu.Unlock()
		if done = full; full {
			free(ctx, ds, was+ds.Summary.FreeSpace) // what was deleted meanwhile counts
		}
	})
	if done {
		h.log(event.Object{Kind: "Datastore", Name: ds.Name}, ref, event.Info, "datastore.freed", 0, "has space again")
	}
	return nil
}

// Full tells whether the datastore was filled.
func (h *Hosts) Full(ref types.ManagedObjectReference) bool {
	h.mu.Lock()
	defer h.mu.Unlock()
	_, full := h.full[ref]
	return full
}

// free writes the free space of a datastore whose lock is held, in bytes.
func free(ctx *simulator.Context, ds *simulator.Datastore, bytes int64) {
	changes := []types.PropertyChange{vc.P("summary.freeSpace", bytes)}
	if info := copyInfo(ds.Info); info != nil {
		info.GetDatastoreInfo().FreeSpace = bytes
		changes = append(changes, vc.P("info", info))
	}
	ctx.Update(ds, changes)
}

// copyInfo copies the details of a datastore, nil for those of a kind that is not made here.
func copyInfo(info types.BaseDatastoreInfo) types.BaseDatastoreInfo {
	switch i := info.(type) {
	case *types.LocalDatastoreInfo:
		c := *i
		return &c
	case *types.VmfsDatastoreInfo:
		c := *i
		return &c
	case *types.NasDatastoreInfo:
		c := *i
		return &c
	case *types.VsanDatastoreInfo:
		c := *i
		return &c
	}
	return nil
}

func (h *Hosts) datastore(parent context.Context, ref vc.Ref) (*simulator.Context, *simulator.Datastore, error) {
	if err := parent.Err(); err != nil {
		return nil, nil, err
	}
	ctx := vc.Fresh(h.base)
	ds, ok := ctx.Map.Get(ref).(*simulator.Datastore)
	if !ok {
		return nil, nil, fmt.Errorf("datastore %s: no such datastore", ref.Value)
	}
	return ctx, ds, nil
}

// noSpace is the fault of a call that needs space on the datastore, nil when it has some.
func (h *Hosts) noSpace(ctx *simulator.Context, ref vc.Ref) types.BaseMethodFault {
	if !h.Full(ref) {
		return nil
	}
	name := ref.Value
	if ds, ok := ctx.Map.Get(ref).(*simulator.Datastore); ok {
		name = ds.Name
	}
	return &types.NoDiskSpace{FileFault: types.FileFault{File: "[" + name + "]"}, Datastore: name}
}

// noSpaceAt is [Hosts.noSpace] of the datastore that a path ("[datastore] file") is on, in the datacenter of an object: other
// datacenters may have one of that name. Nil: in any.
func (h *Hosts) noSpaceAt(ctx *simulator.Context, in *vc.Ref, path string) types.BaseMethodFault {
	var p object.DatastorePath
	if !p.FromString(path) {
		return nil
	}
	h.mu.Lock()
	var full []vc.Ref
	for ref := range h.full {
		full = append(full, ref)
	}
	h.mu.Unlock()
	elsewhere := func(ref vc.Ref) bool {
		if in == nil {
			return false
		}
		here, known := vc.Datacenter(ctx.Map, *in)
		there, _ := vc.Datacenter(ctx.Map, ref)
		return known && here != there
	}
	for _, ref := range full {
		if ds, ok := ctx.Map.Get(ref).(*simulator.Datastore); ok && ds.Name == p.Datastore && !elsewhere(ref) {
			return &types.NoDiskSpace{FileFault: types.FileFault{File: path}, Datastore: ds.Name}
		}
	}
	return nil
}
