package world

import (
	"maps"
	"slices"
	"strings"
	"sync"

	"github.com/vmware/govmomi/vim25/types"

	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/provider/vcenter"
)

type ref = types.ManagedObjectReference

// Spec is what the sandbox watches of a vCenter: VMs and hosts with what can happen to them, and every ancestor.
func Spec() vcenter.WatchSpec {
	entity := []string{"name", "parent"}
	return vcenter.WatchSpec{Properties: map[string][]string{
		"VirtualMachine": append([]string{
			"config.uuid", "config.instanceUuid", "config.guestId", "config.hardware.numCPU", "config.hardware.memoryMB", devices, settings,
			"guest.hostName", "guest.net", "guest.toolsRunningStatus",
			"runtime.powerState", "runtime.connectionState", "runtime.host", "runtime.bootTime",
		}, entity...),
		"HostSystem": append([]string{
			"runtime.connectionState", "runtime.powerState",
			"summary.hardware.numCpuCores", "summary.hardware.memorySize",
		}, entity...),
		"ComputeResource": entity,
		"Datastore":       append([]string{"summary", "host"}, entity...),
		"Folder":          entity,
		"Datacenter":      entity,
	}}
}

// Inventory is the last state that a vCenter has reported. It implements [vcenter.Handler]; its other methods may be called from any
// goroutine.
type Inventory struct {
	// VCenter is its name.
	VCenter string
	// Around, when it is set before the first update, is called as changed is, after it, when something else than a VM has
	// changed (others), or which VMs there are and where.
	Around func(i *Inventory, others bool)

	changed func(*Inventory, []VM)

	mu      sync.RWMutex
	objects map[ref]map[string]any
	tags    Tags
	synced  bool
}

// Tags are the names of region and zone tags by the object they are attached to.
type Tags struct {
	Region, Zone map[ref]string
}

// NewInventory returns an empty inventory. changed, when not nil, is called after each batch of updates with the VMs
// that it changed, created or (Exists false) removed; it is called from the watch's goroutine and must not block it.
func NewInventory(name string, changed func(*Inventory, []VM)) *Inventory {
	return &Inventory{VCenter: name, changed: changed, objects: map[ref]map[string]any{}}
}

// Update implements [vcenter.Handler].
func (i *Inventory) Update(updates []vcenter.Update) {
	var vms []VM
	around, others := false, false
	i.mu.Lock()
	for _, u := range updates {
		isVM := u.Ref.Type == "VirtualMachine"
		others = others || !isVM
		around = around || others || u.Kind != vcenter.Modify || slices.ContainsFunc(u.Changes, func(c types.PropertyChange) bool { return c.Name == "runtime.host" })
		switch u.Kind {
		case vcenter.Leave:
			if isVM {
				gone := i.vm(u.Ref)
				gone.Exists = false
				vms = append(vms, gone)
			}
			delete(i.objects, u.Ref)
			continue
		case vcenter.Enter:
			i.objects[u.Ref] = map[string]any{}
		}
		object := i.objects[u.Ref]
		if object == nil {
			continue // modified after it left, in the order of the updates
		}
		for _, c := range u.Changes {
			object[c.Name] = compact(c.Name, c.Val)
		}
		if isVM {
			vms = append(vms, i.vm(u.Ref))
		}
	}
	i.mu.Unlock()
	if i.changed != nil && len(vms) > 0 {
		i.changed(i, vms)
	}
	if i.Around != nil && around {
		i.Around(i, others)
	}
}

// Synced implements [vcenter.Handler].
func (i *Inventory) Synced() { i.setSynced(true) }

// Lost implements [vcenter.Handler]. The last state stays.
func (i *Inventory) Lost(error) { i.setSynced(false) }

func (i *Inventory) setSynced(synced bool) {
	i.mu.Lock()
	defer i.mu.Unlock()
	i.synced = synced
}

// Watched reports whether the inventory is complete and current.
func (i *Inventory) Watched() bool {
	i.mu.RLock()
	defer i.mu.RUnlock()
	return i.synced
}

// SetTags replaces the tags. It returns false if they are the same as before.
func (i *Inventory) SetTags(t Tags) (changed bool) {
	i.mu.Lock()
	defer i.mu.Unlock()
	changed = !maps.Equal(i.tags.Region, t.Region) || !maps.Equal(i.tags.Zone, t.Zone)
	i.tags = t
	return changed
}

// refs returns the objects of a type whose name may be a base type's prefixless suffix ("ComputeResource" includes
// clusters), by path. The caller holds the lock.
func (i *Inventory) refs(match func(ref) bool) []ref {
	var refs []ref
	paths := map[ref]string{} // each is worth being put together once
	for r := range i.objects {
		if match(r) {
			refs = append(refs, r)
			paths[r] = i.path(r)
		}
	}
	slices.SortFunc(refs, func(a, b ref) int {
		return compareOr(strings.Compare(paths[a], paths[b]), strings.Compare(a.Value, b.Value))
	})
	return refs
}

func ofType(name string) func(ref) bool { return func(r ref) bool { return r.Type == name } }

// property returns a property in the type wanted, or its zero value when it is unset or unknown.
func property[T any](i *Inventory, r ref, path string) T {
	v, _ := i.objects[r][path].(T)
	return v
}

// ancestors lists the objects from r upwards, r first. A cycle, which only a corrupt inventory has, ends it.
func (i *Inventory) ancestors(r ref) []ref {
	var path []ref
	for r.Value != "" && len(path) < 64 {
		path = append(path, r)
		r = property[ref](i, r, "parent")
	}
	return path
}

// path is the inventory path that govc shows: names from below the root folder, joined by slashes.
func (i *Inventory) path(r ref) string {
	var names []string
	for _, a := range i.ancestors(r) {
		if property[ref](i, a, "parent").Value == "" {
			break // the root folder
		}
		names = append(names, property[string](i, a, "name"))
	}
	slices.Reverse(names)
	return "/" + strings.Join(names, "/")
}

// above names the nearest ancestor of a type, "" without one.
func (i *Inventory) above(r ref, kind string) string {
	for _, a := range i.ancestors(r) {
		if a.Type == kind {
			return property[string](i, a, "name")
		}
	}
	return ""
}

// nearest finds the tag nearest to r going up.
func (i *Inventory) nearest(r ref, tags map[ref]string) string {
	for _, a := range i.ancestors(r) {
		if t, ok := tags[a]; ok {
			return t
		}
	}
	return ""
}

// place is the region and the zone of r, each by the nearest tag.
func (i *Inventory) place(r ref) (region, zone string) {
	return i.nearest(r, i.tags.Region), i.nearest(r, i.tags.Zone)
}

func compareOr(first, second int) int {
	if first != 0 {
		return first
	}
	return second
}
