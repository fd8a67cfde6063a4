package sim

import (
	"fmt"
	"sync"

	"github.com/vmware/govmomi/simulator"
	"github.com/vmware/govmomi/vim25/types"

	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/sim/guest"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/sim/internal/vc"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/sim/rest"
)

// Changes of hosts and VMs that no client of a vCenter can make. Errors name the object.

// CausingRef makes seq the cause of what happens to the object (VM, host, datastore) and to its tags, until release is called.
// The latest call counts.
func (v *VCenter) CausingRef(ref types.ManagedObjectReference, seq uint64) (release func()) {
	releases := []func(){v.hosts.Causing(ref, seq), v.service.rest.Causing(ref, seq)}
	if ref.Type == "VirtualMachine" {
		releases = append(releases, v.guests.CausingRef(ref, seq))
	}
	return func() {
		for _, release := range releases {
			release()
		}
	}
}

// OnDied calls f with every VM that dies with its host, whose vCenter still shows it as powered on. seq is the event that reports
// it. It may be called at any time; f runs without locks on the goroutine that ended the host, before that returns.
func (v *VCenter) OnDied(f func(vm types.ManagedObjectReference, seq uint64)) { v.hosts.OnDeath(f) }

// Guest returns the VM's guest; false if the VM does not exist.
func (v *VCenter) Guest(vm types.ManagedObjectReference) (guest.Info, bool) { return v.guests.Info(vm) }

// Cards returns the MAC addresses of the VM's NICs: see [guest.Guests.Cards].
func (v *VCenter) Cards(vm types.ManagedObjectReference) []string { return v.guests.Cards(vm) }

// InstallGuest replaces the VM's guest: see [guest.Guests.Become].
func (v *VCenter) InstallGuest(vm types.ManagedObjectReference, info guest.Info) error {
	return v.guests.Become(vm, info)
}

// WriteUUID sets the VM's BIOS UUID, which may be empty, unlike in the API. It ignores a removed VM.
func (v *VCenter) WriteUUID(vm types.ManagedObjectReference, uuid string) {
	ctx := vc.Fresh(v.service.ctx)
	if _, ok := ctx.Map.Get(vm).(*simulator.VirtualMachine); !ok {
		return
	}
	vc.Set(ctx, vm, vc.P("config.uuid", uuid), vc.P("summary.config.uuid", uuid))
}

// widened are the categories that temporarily allow several tags per object.
type widened struct {
	mu sync.Mutex
	by map[string]*widening
}

type widening struct {
	was   string // its cardinality
	times int
}

// AllowSeveralTags lets objects have several tags of the category, until it was called with several == false as many times. A
// vCenter's API can only widen a category. Objects keep their tags.
func (v *VCenter) AllowSeveralTags(category string, several bool) error {
	w := &v.widened
	w.mu.Lock()
	defer w.mu.Unlock()
	is := w.by[category]
	switch {
	case several && is != nil:
		is.times++
		return nil
	case several:
		was, err := v.service.rest.SetCardinality(category, rest.Multiple)
		if err != nil {
			return fmt.Errorf("vcenter %q: tag category %s: %w", v.spec.Name, category, err)
		}
		if w.by == nil {
			w.by = make(map[string]*widening)
		}
		w.by[category] = &widening{was: was, times: 1}
		return nil
	case is == nil:
		return nil
	}
	if is.times--; is.times > 0 {
		return nil
	}
	delete(w.by, category)
	_, _ = v.service.rest.SetCardinality(category, is.was) // it may be gone
	return nil
}
