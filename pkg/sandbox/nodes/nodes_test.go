package nodes

import (
	"context"
	"log/slog"
	"strings"
	"testing"
	"time"

	"github.com/vmware/govmomi/vim25/types"

	"github.com/vsphere-sandbox/vsphere-sandbox/internal/instance"
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

// anyGuest is a guest that nothing is asked of.
type anyGuest struct{ node.Guest }

func (anyGuest) Observe(node.VM) {}

// A kubelet is found by its Node's name and its VM's addresses, also after the guest stopped reporting them; never by one that two VMs
// have.
func TestKubeletAt(t *testing.T) {
	dir, err := instance.Create(t.TempDir(), "test")
	if err != nil {
		t.Fatal(err)
	}
	defer dir.Remove()
	n := New(Options{
		Ground: func() ground.Ground { return lightGround{} }, Topology: &topology.Topology{}, World: func() *world.World { return nil }, Dir: dir,
	})
	vm := func(name string, addresses ...string) world.VM {
		return world.VM{VM: api.VM{VCenter: "vc", Name: name, Addresses: addresses}, Exists: true, Ref: types.ManagedObjectReference{Value: name}}
	}
	for name, v := range map[string]world.VM{"worker-1": vm("VM-1", "10.0.0.1", "10.0.0.9"), "worker-2": vm("VM-2", "10.0.0.2", "10.0.0.9"), "gone": vm("VM-3", "10.0.0.3")} {
		if name != "gone" {
			n.vms[v.Key()] = &member{n: n, guest: anyGuest{}}
		}
		n.bound[name] = Bound{Key: v.Key(), VM: v.Name}
		n.Observe([]world.VM{v})
	}
	n.Observe([]world.VM{vm("VM-1")}) // it is off
	for host, want := range map[string]string{"worker-1": "VM-1", "10.0.0.1": "VM-1", "10.0.0.2": "VM-2", "worker-2": "VM-2"} {
		if k, err := n.KubeletAt(host); err != nil || k.VM != want || k.Now.Name != want || len(k.Addresses) != 2 || !strings.HasSuffix(k.Dir, "vc."+want) {
			t.Errorf("%s: %+v, %v", host, k, err)
		}
	}
	for host, want := range map[string]string{
		"worker-3": `node "worker-3": no VM`, "gone": `node "gone": no VM`, "10.0.0.3": "10.0.0.3: no address of a VM", "10.0.0.9": "10.0.0.9: an address of VM ",
	} {
		if k, err := n.KubeletAt(host); err == nil || !strings.HasPrefix(err.Error(), want) {
			t.Errorf("%s: %+v, %v, want %q", host, k, err, want)
		}
	}
}
