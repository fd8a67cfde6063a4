// Package rows keeps the rows that watchers of a sandbox read up to date: it sets them when an inventory, the kubelet of a VM
// or the event log reports a change.
//
// Floor 3.
package rows

import (
	"context"
	"strings"
	"time"

	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/event"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/sandbox/components"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/sandbox/faults"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/sandbox/storage"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/sandbox/vcenters"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/sandbox/watchcache"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/sandbox/world"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/sim/fault"
)

// Rows sets the rows of a [watchcache.Cache]. Its methods may be called from any goroutine.
type Rows struct {
	Log        *event.Log
	Cache      *watchcache.Cache
	VCenters   func() vcenters.List
	Tags       *vcenters.Tags
	Storage    *storage.Watcher
	Components *components.Registry
	Roles      world.Roles
	// VMs receives VMs that have changed, before their rows are set.
	VMs func([]world.VM)
	// VMOf returns the VM behind a Node, the zero value for none.
	VMOf func(node string) world.VMKey
}

// InventoryChanged sets the rows of VMs that have changed.
func (r *Rows) InventoryChanged(_ *world.Inventory, vms []world.VM) {
	r.VMs(vms)
	r.Storage.VMsChanged(vms)
	for _, v := range vms {
		r.VMChanged(v)
	}
}

// AroundChanged sets the rows of a vCenter and its hosts. With others, objects that hold VMs may have other names, and the rows
// of VMs are set, too.
func (r *Rows) AroundChanged(i *world.Inventory, others bool) {
	r.Cache.SetHosts(i.VCenter, i.Hosts())
	r.VCenterChanged(i.VCenter)
	if others {
		r.inventory(i)
	}
}

func (r *Rows) inventory(i *world.Inventory) {
	for _, v := range i.VMs() {
		r.VMChanged(v)
	}
}

// VMChanged sets the row of a VM to what the VM is now, which may be later than v.
func (r *Rows) VMChanged(v world.VM) {
	r.Cache.Refresh(func() {
		if vc := r.VCenters().Find(v.VCenter); vc != nil && v.Exists {
			now, exists := vc.Inventory.VM(v.Ref)
			if !exists {
				return // the watch reports it as gone
			}
			v = now
		}
		if v.Role = r.Roles.Role(v); v.Role != "" {
			v.Process = string(r.Roles.Process(v))
		}
		r.Cache.SetVM(v)
	})
}

// VCenterChanged sets the row of a vCenter.
func (r *Rows) VCenterChanged(name string) {
	r.Cache.Refresh(func() {
		if vc := r.VCenters().Find(name); vc != nil {
			r.Cache.SetVCenter(vc.Row())
		}
	})
}

// LeaseChanged sets the rows of a lease and of the vCenters that it changes.
func (r *Rows) LeaseChanged(l fault.Lease) {
	r.Cache.SetLease(faults.LeaseRow(l))
	for _, t := range l.Targets {
		if t.Target.Kind == fault.VCenter {
			r.VCenterChanged(t.Target.Name)
		}
	}
}

// TagsChanged sets the rows of the VMs of a vCenter, which may be in another region or zone.
func (r *Rows) TagsChanged(vc *vcenters.VCenter) { r.inventory(vc.Inventory) }

// RolesChanged sets the rows of all VMs.
func (r *Rows) RolesChanged() {
	for _, vc := range r.VCenters() {
		r.inventory(vc.Inventory)
	}
}

// FollowLog sets rows that no watch follows, when an event reports a change of them, until ctx ends.
func (r *Rows) FollowLog(ctx context.Context) {
	for seq := r.Log.Last(); ; {
		events, lost, err := r.Log.Wait(ctx, seq, 256)
		if err != nil {
			return
		}
		if lost > 0 {
			r.Tags.Refresh(ctx)
			for _, vc := range r.VCenters() {
				r.AroundChanged(vc.Inventory, true)
			}
		}
		for _, e := range events {
			r.happened(ctx, e)
			seq = e.Seq
		}
	}
}

func (r *Rows) happened(ctx context.Context, e event.Event) {
	subject, _, _ := strings.Cut(e.Kind, ".")
	switch {
	case subject == "tag":
		r.Tags.Update(ctx)
	case subject == "gate", subject == "inventory":
		r.VCenterChanged(e.Object.Name)
	case e.Object.Kind == "Volume":
		r.Storage.HandleEvent(e.Object)
	case e.Object.Kind == "Component" && subject == "child":
		r.Components.Changed(e.Object.Name)
	case e.Object.Kind == "Node" && (subject == "child" || subject == "node"):
		switch e.Kind {
		case "node.hung", "node.resumed", "child.paused", "child.resumed", "node.not-ready", "node.unknown", "node.ready":
			r.Components.Changed("node/" + e.Object.Name) // its process stops or continues
		}
		if v, ok := r.VCenters().VM(r.VMOf(e.Object.Name)); ok {
			r.VMChanged(v)
		}
	}
}

// callsInterval is the pause between two updates of the counts of calls.
const callsInterval = time.Second

// FollowCalls sets the counts of the calls to a vCenter, at most once per callsInterval, until ctx ends.
func (r *Rows) FollowCalls(ctx context.Context, vc *vcenters.VCenter) {
	for seen := int64(0); ; {
		changed, n, err := vc.Gate().WaitStats(ctx, seen)
		if err != nil {
			return
		}
		r.Cache.SetCalls(vcenters.CallsRows(vc.Name(), changed))
		seen = n
		select {
		case <-time.After(callsInterval):
		case <-ctx.Done():
			return
		}
	}
}
