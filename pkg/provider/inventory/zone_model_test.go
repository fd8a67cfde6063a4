package inventory

import (
	"fmt"
	"math/rand/v2"
	"testing"
	"time"

	"github.com/vmware/govmomi/vim25/types"

	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/provider/tagged"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/provider/vcenter"
)

type objectRef = types.ManagedObjectReference

// estate is a random inventory in a simple form.
type estate struct {
	parent       map[objectRef]objectRef
	region, zone tagged.Objects
	vms          []*VM
}

// newEstate creates two datacenters below folders, with clusters, hosts, pools, a vApp and VMs, and tags on some objects.
func newEstate(r *rand.Rand) *estate {
	e := &estate{parent: map[objectRef]objectRef{}, region: tagged.Objects{}, zone: tagged.Objects{}}
	n := 0
	child := func(kind string, parent objectRef) objectRef {
		n++
		o := ref(kind, fmt.Sprintf("%s-%d", kind, n))
		e.parent[o] = parent
		return o
	}
	chain := func(kind string, from objectRef, most int) objectRef {
		for range r.IntN(most + 1) {
			from = child(kind, from)
		}
		return from
	}
	root := ref("Folder", "root")
	for range 2 {
		dc := child("Datacenter", chain("Folder", root, 2))
		hosts := chain("Folder", child("Folder", dc), 2)
		folders := child("Folder", dc)
		for range 2 {
			cluster := child("ClusterComputeResource", hosts)
			host := child("HostSystem", cluster)
			pool := chain("ResourcePool", child("ResourcePool", cluster), 2)
			for range 3 {
				n++
				vm := &VM{VCenter: "vc", Ref: ref("VirtualMachine", fmt.Sprint("vm-", n)), Host: host, ResourcePool: pool}
				switch r.IntN(4) {
				case 0: // in a vApp: it has no folder
					vm.ResourcePool = child("VirtualApp", pool)
				case 1:
					vm.Host, vm.Parent = objectRef{}, chain("Folder", folders, 2)
				default:
					vm.Parent = chain("Folder", folders, 2)
				}
				e.vms = append(e.vms, vm)
			}
		}
	}
	share := r.IntN(6) + 1
	tag := func(o objectRef) {
		for range r.IntN(2) * (1 + r.IntN(2)) {
			e.region.Add(o, fmt.Sprint("r", r.IntN(9)))
		}
		for range r.IntN(2) * (1 + r.IntN(2)) {
			e.zone.Add(o, fmt.Sprint("z", r.IntN(9)))
		}
	}
	for o := range e.parent {
		if r.IntN(share) == 0 {
			tag(o)
		}
	}
	for _, vm := range e.vms {
		if r.IntN(share*3) == 0 {
			tag(vm.Ref)
		}
	}
	return e
}

// chains lists the objects of the three walks.
func (e *estate) chains(vm *VM) (all [3][]objectRef) {
	up := func(o objectRef) (chain []objectRef) {
		for ; o.Value != ""; o = e.parent[o] {
			chain = append(chain, o)
		}
		return chain
	}
	above := vm.Parent
	if above.Value == "" {
		above = vm.ResourcePool
	}
	return [3][]objectRef{up(vm.Host), up(vm.ResourcePool), append([]objectRef{vm.Ref}, up(above)...)}
}

// nearest is the rule: for each label separately, the first object of a chain that has one; the first chain with both.
func (e *estate) nearest(vm *VM) (z Zone, ok bool) {
	label := func(chain []objectRef, tags tagged.Objects) string {
		for _, o := range chain {
			if names := tags[o]; len(names) > 0 {
				return names[0]
			}
		}
		return ""
	}
	for _, chain := range e.chains(vm) {
		if r, z := label(chain, e.region), label(chain, e.zone); r != "" && z != "" {
			return Zone{r, z}, true
		}
	}
	return Zone{}, false
}

// upstream lists all possible results of upstream's loop, over all orders in which a vCenter may list the tags of each object.
func (e *estate) upstream(vm *VM) (answers map[Zone]bool, fails bool) {
	answers = map[Zone]bool{}
	states := map[Zone]bool{}
	for _, chain := range e.chains(vm) {
		states = map[Zone]bool{{}: true}
		for _, o := range chain {
			next := map[Zone]bool{}
			for s := range states {
				e.lists(s, e.region[o], e.zone[o], next, answers)
			}
			states = next
		}
		if len(states) == 0 {
			return answers, false
		}
	}
	return answers, len(states) > 0
}

// lists tries the tags of one object in every order. A state with both labels is a result; the others continue upward.
func (e *estate) lists(s Zone, regions, zones []string, next, answers map[Zone]bool) {
	if s.Region != "" && s.Zone != "" {
		answers[s] = true
		return
	}
	if len(regions)+len(zones) == 0 {
		next[s] = true
	}
	without := func(names []string, i int) []string {
		return append(append([]string{}, names[:i]...), names[i+1:]...)
	}
	for i, name := range regions {
		e.lists(Zone{name, s.Zone}, without(regions, i), zones, next, answers)
	}
	for i, name := range zones {
		e.lists(Zone{s.Region, name}, regions, without(zones, i), next, answers)
	}
}

// load passes the estate to an inventory in random order.
func (e *estate) load(r *rand.Rand, inv *Inventory, f feed) {
	var batch []vcenter.Update
	for o, parent := range e.parent {
		batch = append(batch, enter(o, map[string]any{"name": o.Value, "parent": parent}))
	}
	for _, vm := range e.vms {
		changes := map[string]any{"name": vm.Ref.Value}
		for path, o := range map[string]objectRef{"runtime.host": vm.Host, "resourcePool": vm.ResourcePool, "parent": vm.Parent} {
			if o.Value != "" {
				changes[path] = o
			}
		}
		batch = append(batch, enter(vm.Ref, changes))
	}
	r.Shuffle(len(batch), func(i, j int) { batch[i], batch[j] = batch[j], batch[i] })
	f.Update(batch)
	f.Synced()
	inv.members[0].tags.state.Store(&tagState{region: e.region, zone: e.zone, readAt: time.Now()})
}

// Zones match a slow and simple reference, over random inventories and tags. With parity they are one of upstream's possible
// results, and missing exactly if upstream has none.
func TestZoneModel(t *testing.T) {
	seed := uint64(time.Now().UnixNano())
	r := rand.New(rand.NewPCG(seed, 1))
	for round := range 1500 {
		e := newEstate(r)
		inv, f := offline(t, Categories{Region: "k8s-region", Zone: "k8s-zone"})
		e.load(r, inv, f)
		for _, vm := range e.vms {
			inv.cfg.ParityUpstream = false
			got, err := inv.Zone(vm)
			if want, ok := e.nearest(vm); got != want || ok != (err == nil) {
				t.Fatalf("seed %d, round %d, %s: %v, %v, want %v", seed, round, vm, got, err, want)
			}
			inv.cfg.ParityUpstream = true
			got, err = inv.Zone(vm)
			answers, fails := e.upstream(vm)
			if fails != (err != nil) || err == nil && !answers[got] {
				t.Fatalf("seed %d, round %d, %s: with parity %v, %v, want one of %v", seed, round, vm, got, err, answers)
			}
			if again, _ := inv.Zone(vm); again != got {
				t.Fatalf("seed %d, round %d, %s: %v and then %v", seed, round, vm, got, again)
			}
		}
	}
}
