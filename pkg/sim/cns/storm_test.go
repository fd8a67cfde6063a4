package cns_test

import (
	"fmt"
	"sync"
	"testing"

	"github.com/vmware/govmomi/vim25/types"

	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/sim/cns"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/sim/internal/vc"
)

// TestStorm attaches and detaches with fifty clients at once, on one VM and on many: every slot has one disk, every volume
// is where its disk is.
func TestStorm(t *testing.T) {
	const clients = 50
	rounds := 3
	if testing.Short() {
		rounds = 2
	}
	for _, vms := range []int{1, 5} {
		t.Run(fmt.Sprint(vms, " VMs"), func(t *testing.T) {
			s := serve(t, vms, cns.Options{})
			ids := make([]string, clients)
			for i := range ids {
				ids[i] = s.create(t, spec(fmt.Sprint("pvc-", i), "c", 10))
			}
			var wg sync.WaitGroup
			for i, id := range ids {
				wg.Go(func() {
					on := s.vms[i%vms]
					for round := range rounds {
						if r := s.attach(t, id, on); r.GetCnsVolumeOperationResult().Fault != nil {
							t.Errorf("attach: %+v", r.GetCnsVolumeOperationResult().Fault)
						}
						if round == rounds-1 {
							return
						}
						if r := s.detach(t, id, on); r.GetCnsVolumeOperationResult().Fault != nil {
							t.Errorf("detach: %+v", r.GetCnsVolumeOperationResult().Fault)
						}
					}
				})
			}
			wg.Wait()
			s.consistent(t)
		})
	}
}

// TestStormOverOneVolume: of concurrent attachments one succeeds, and the others fail with a fault.
func TestStormOverOneVolume(t *testing.T) {
	s := serve(t, 5, cns.Options{})
	id := s.create(t, spec("pvc", "c", 10))
	got := make([]bool, 50)
	var wg sync.WaitGroup
	for i := range got {
		wg.Go(func() {
			r := s.attach(t, id, s.vms[i%len(s.vms)])
			if got[i] = r.GetCnsVolumeOperationResult().Fault == nil; !got[i] && !is(r, new(types.ResourceInUse)) {
				t.Errorf("%+v", r.GetCnsVolumeOperationResult().Fault)
			}
		})
	}
	wg.Wait()
	n := 0
	for _, yes := range got {
		if yes {
			n++
		}
	}
	if n != 1 {
		t.Errorf("%d have it", n)
	}
	s.consistent(t)
}

// consistent checks that what CNS knows is what VMs have.
func (s *server) consistent(t testing.TB) {
	t.Helper()
	type at struct {
		vm               vc.Ref
		controller, unit int32
	}
	seen := map[string]at{}
	for _, ref := range s.vms {
		taken := map[at]bool{}
		for _, d := range s.devices(t, ref) {
			v := d.GetVirtualDevice()
			disk, ok := d.(*types.VirtualDisk)
			if !ok || v.UnitNumber == nil {
				continue
			}
			place := at{ref, v.ControllerKey, *v.UnitNumber}
			if taken[place] {
				t.Errorf("two disks in %v", place)
			}
			taken[place] = true
			if disk.VDiskId == nil {
				continue
			}
			if was, twice := seen[disk.VDiskId.Id]; twice {
				t.Errorf("volume %s is in %v and %v", disk.VDiskId.Id, was, place)
			}
			seen[disk.VDiskId.Id] = place
		}
	}
	for _, v := range s.Volumes() {
		if is := (at{v.VM, v.Controller, v.Unit}); seen[v.ID] != is {
			t.Errorf("volume %s is in %v, CNS says %v", v.ID, seen[v.ID], is)
		}
	}
}

// TestVMsEndInTheStorm: VMs go away while volumes come to and leave them. What is left is consistent, and nothing hangs.
func TestVMsEndInTheStorm(t *testing.T) {
	s := serve(t, 10, cns.Options{})
	rounds := 6
	if testing.Short() {
		rounds = 3
	}
	ids := make([]string, 30)
	for i := range ids {
		ids[i] = s.create(t, spec(fmt.Sprint("pvc-", i), "c", 10))
	}
	var wg sync.WaitGroup
	for i, id := range ids {
		wg.Go(func() {
			for round := range rounds {
				on := s.vms[(i+round)%len(s.vms)]
				s.attach(t, id, on)
				s.detach(t, id, on)
			}
		})
	}
	for _, ref := range s.vms[5:] {
		wg.Go(func() {
			done(t)(s.object(ref).PowerOff(t.Context()))
			if err := s.object(ref).Unregister(t.Context()); err != nil {
				t.Error(err)
			}
		})
	}
	wg.Wait()
	s.vms = s.vms[:5]
	s.consistent(t)
	for _, id := range ids {
		fine(t, s.remove(t, id))
	}
}
