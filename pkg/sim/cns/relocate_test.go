package cns_test

import (
	"testing"
	"time"

	"github.com/vmware/govmomi/simulator"
	"github.com/vmware/govmomi/vim25/mo"
	"github.com/vmware/govmomi/vim25/types"

	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/sim/cns"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/sim/internal/vc"
)

// TestVMEndsWhileItsVolumeIsRelocated: the VM ends after the record says that the volume has moved, and before the catalogue
// of disks says so.
func TestVMEndsWhileItsVolumeIsRelocated(t *testing.T) {
	s := serve(t, 1, cns.Options{})
	vm := s.vms[0]
	var ids []string
	for _, name := range []string{"a", "b"} {
		id := s.create(t, spec(name, "c", 10, s.datastores[1]))
		fine(t, s.attach(t, id, vm))
		ids = append(ids, id)
	}
	moving, other := min(ids[0], ids[1]), max(ids[0], ids[1])
	fine(t, s.relocate(t, other, s.datastores[0])) // or the VM would continue using the datastore that the other one leaves

	between := &between{follow: vc.Ref{Type: "Test", Value: "between"}, t: t, vm: vm}
	between.is = func() bool {
		v, _ := s.Volume(moving)
		return v.Datastore == s.datastores[2]
	}
	between.do = func() {
		s.Destroying(vm) // its lock is held
		for deadline := time.Now().Add(patience); used(s, other); time.Sleep(time.Millisecond) {
			if time.Now().After(deadline) { // it comes after the one that moves
				t.Error("the other volume still has a consumer")
				return
			}
		}
	}
	s.ctx.Map.AddHandler(between)
	if !used(s, moving) || !used(s, other) {
		t.Fatal("attached volumes have no consumer")
	}
	if err := s.Relocate(t.Context(), moving, s.datastores[2]); err != nil {
		t.Fatal(err)
	}
	s.ctx.Map.RemoveHandler(between)
	if !between.done {
		t.Fatal("nothing was done between")
	}
	if used(s, moving) {
		t.Error("the catalogue says that a VM has the volume, which is on none")
	}
}

// used reports whether the disk has a consumer in the catalogue.
func used(s *server, id string) (yes bool) {
	om := s.ctx.Map.VStorageObjectManager()
	vc.Fresh(s.ctx).WithLock(om, func() {
		for _, disks := range om.Catalog() {
			if d := disks[types.ID{Id: id}]; d != nil {
				yes = len(d.Config.ConsumerId) > 0
			}
		}
	})
	return yes
}

// between does something once, at the first change of a VM at which something is so.
type between struct {
	follow vc.Ref
	t      *testing.T
	vm     vc.Ref
	is     func() bool
	do     func()
	done   bool
}

func (b *between) Reference() vc.Ref { return b.follow }

func (b *between) PutObject(*simulator.Context, mo.Reference) {}

func (b *between) RemoveObject(*simulator.Context, vc.Ref) {}

func (b *between) UpdateObject(_ *simulator.Context, obj mo.Reference, _ []types.PropertyChange) {
	if !b.done && obj.Reference() == b.vm && b.is() {
		b.done = true
		b.do()
	}
}
