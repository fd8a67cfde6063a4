package sim_test

import (
	"context"
	"errors"
	"strings"
	"testing"

	"github.com/vmware/govmomi/cns"
	"github.com/vmware/govmomi/vim25/types"

	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/sim"
	simcns "github.com/vsphere-sandbox/vsphere-sandbox/pkg/sim/cns"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/topology"
)

// blind are guests that see no disk.
type blind struct{ simcns.Guests }

func (blind) Plug(context.Context, types.ManagedObjectReference, simcns.GuestDisk) error {
	return errors.New("no device is free")
}

// TestGuestsAreAskedByVCenter: those of the vCenter of that name, before a volume is attached.
func TestGuestsAreAskedByVCenter(t *testing.T) {
	top, err := topology.Load("rooms", []byte(twoRooms))
	if err != nil {
		t.Fatal(err)
	}
	lab := sim.StartWith(t, sim.Options{Topology: top, Guests: func(vcenter string) simcns.Guests {
		if vcenter != "vc" {
			return nil
		}
		return blind{}
	}})
	v, _ := lab.VCenter("vc")
	c := lab.Client("vc")
	volumes, err := cns.NewClient(t.Context(), c.Client)
	if err != nil {
		t.Fatal(err)
	}
	r := rooms{lab, t, v, c, volumes}
	id := r.create("pvc-1", "shared")
	if r.attach(id, "a") == nil {
		t.Error("attached to a guest that does not see it")
	}
	reported := false
	events, _ := r.Events.Read(0, 0)
	for _, e := range events {
		reported = reported || e.Kind == "volume.refused" && strings.Contains(e.Message, "no device is free")
	}
	if !reported {
		t.Error("no event says why")
	}
	if is, _ := r.vcenter.Volume(id); is.VMName != "" {
		t.Errorf("on VM %s", is.VMName)
	}
}
