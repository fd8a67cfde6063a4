package nodes

import (
	"context"
	"log/slog"
	"testing"
	"time"

	"github.com/vmware/govmomi/vim25/types"

	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/event"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/ground"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/node"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/node/light/feed"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/sandbox/api"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/sandbox/background"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/sandbox/causality"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/sandbox/vcenters"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/sandbox/world"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/topology"
	"github.com/vsphere-sandbox/vsphere-sandbox/scenarios"
)

// lightGround has light nodes only, and no program for them.
type lightGround struct{ ground.Ground }

func (lightGround) Light(*topology.VM) bool { return true }

func (lightGround) Guest(n ground.Node) node.Guest {
	return n.LightGuest(ground.LightOptions{InPods: true})
}

// The program of light nodes ends before their guests do: it must not take the end of the sandbox for that of the VMs.
func TestLightProgramStopsFirst(t *testing.T) {
	top, err := scenarios.Load("single")
	if err != nil {
		t.Fatal(err)
	}
	log := event.NewLog(0)
	n := New(Options{
		Ground: func() ground.Ground { return lightGround{} }, Topology: top, VCenters: func() vcenters.List { return nil }, World: func() *world.World { return nil },
		Log: log, Logger: slog.New(slog.DiscardHandler), Causes: &causality.Finder{Log: log}, Background: &background.Groups{},
	})
	var vms []world.VM
	for _, r := range top.Nodes() {
		vms = append(vms, world.VM{
			VM:     api.VM{VCenter: "vc", Name: r.VM.Name, UUID: r.VM.UUID, Power: string(node.On), Tools: true, Hostname: r.VM.Hostname},
			Exists: true, BootTime: time.Now(), Ref: types.ManagedObjectReference{Value: r.VM.Name},
		})
	}
	n.Observe(vms)
	running := func() (count int) {
		for _, m := range n.light.fleet.Feed().Guests() {
			if m.State == feed.Running {
				count++
			}
		}
		return count
	}
	ran := -1
	n.Background.Run(lightGroup, func(ctx context.Context) { // in place of the program
		<-ctx.Done()
		time.Sleep(100 * time.Millisecond)
		ran = running()
	})
	if err := n.Start(t.Context()); err != nil {
		t.Fatal(err)
	}
	for deadline := time.Now().Add(10 * time.Second); running() < len(vms); time.Sleep(10 * time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatalf("%d of %d light nodes run", running(), len(vms))
		}
	}
	if err := n.Stop(t.Context()); err != nil {
		t.Fatal(err)
	}
	if ran != len(vms) || ran == 0 {
		t.Errorf("%d of %d light nodes ran when the program ended", ran, len(vms))
	}
}
