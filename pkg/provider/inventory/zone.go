package inventory

import (
	"fmt"
	"strings"

	"github.com/vmware/govmomi/vim25/types"
)

// Zone is the region and zone of a VM, from the tags of the objects above it.
type Zone struct {
	Region, Zone string
}

// Zone returns the region and zone of vm. It walks up from the VM's host over its cluster, folders and datacenter to the
// root and takes the nearest tag of each category. If that walk does not find both, it walks up from the VM's resource pool,
// and then from the VM over its folders. As upstream, it does not mix the results of different walks. If one object has
// several tags of a category, the first by name counts. Unless both categories are configured, the zone is empty. A miss is
// a [MissingTagError] and triggers an early read of the tags.
//
// With [Config.ParityUpstream], a walk continues as upstream's does (pkg/common/connectionmanager/zones.go): until it has
// both, an object farther up replaces its labels. Where upstream's result depends on the order in which the vCenter lists
// the tags of an object, the tag that ends the walk counts first, then the first by name.
func (inv *Inventory) Zone(vm *VM) (Zone, error) {
	if !inv.cfg.Categories.enabled() {
		return Zone{}, nil
	}
	m := inv.member(vm.VCenter)
	if m == nil {
		return Zone{}, fmt.Errorf("vm %s: unknown vcenter", vm)
	}
	tags := m.tags.state.Load()
	w := walker{index: m.index, tags: tags, parity: inv.cfg.ParityUpstream}
	m.index.mu.RLock()
	defer m.index.mu.RUnlock()
	if zone, ok := w.zone(vm); ok {
		return zone, nil
	}
	m.tags.missed()
	return Zone{}, w.miss(vm, inv.cfg.Categories)
}

// walker looks for tags above VMs. The index's lock is held during its use.
type walker struct {
	index  *index
	tags   *tagState
	parity bool
}

// walks returns the objects at which walks begin, in order. A VM in a vApp has no folder; it is below its vApp.
func walks(vm *VM) [3]types.ManagedObjectReference {
	return [...]types.ManagedObjectReference{vm.Host, vm.ResourcePool, vm.Ref}
}

// zone returns the result of the first walk that finds both labels.
func (w walker) zone(vm *VM) (z Zone, ok bool) {
	for _, start := range walks(vm) {
		if z, ok := w.walk(vm, start); ok {
			return z, true
		}
	}
	return Zone{}, false
}

// walk goes up from start. If it does not find both labels, z has the one that it found.
func (w walker) walk(vm *VM, start types.ManagedObjectReference) (z Zone, ok bool) {
	for ref, n := start, 0; ref.Value != "" && n < maxDepth; ref, n = w.up(vm, ref), n+1 {
		w.observe(&z, firstName(w.tags.region[ref]), firstName(w.tags.zone[ref]))
		if z.Region != "" && z.Zone != "" {
			return z, true
		}
	}
	return z, false
}

// observe applies the labels of the next object; "" means no label.
func (w walker) observe(z *Zone, region, zone string) {
	before := *z
	if z.Region == "" {
		z.Region = region
	}
	if z.Zone == "" {
		z.Zone = zone
	}
	if !w.parity || z.Region != "" && z.Zone != "" {
		return
	}
	if before.Region != "" && region != "" {
		z.Region = region
	}
	if before.Zone != "" && zone != "" {
		z.Zone = zone
	}
}

func (w walker) up(vm *VM, ref types.ManagedObjectReference) types.ManagedObjectReference {
	switch {
	case ref != vm.Ref:
		return w.index.entities[ref].parent
	case vm.Parent.Value != "":
		return vm.Parent
	}
	return vm.ResourcePool
}

func firstName(names []string) string {
	if len(names) == 0 {
		return ""
	}
	return names[0]
}

// MissingTagError reports that a VM has no region, no zone, or neither, with the details that are needed to fix it.
type MissingTagError struct {
	VM *VM
	// Found is the result of the first walk that found a label. Categories are the quoted categories without a tag in it.
	Categories []string
	Found      Zone
	// Walked lists the visited objects once each with their types: HostSystem "west-1". The order is: from the host upward,
	// then from the resource pool, then from the VM.
	Walked []string
	// Tags lists their tags of both categories, in the same order: "us-west" (k8s-zone) on Datacenter "west".
	Tags []string
	// Apart reports that both categories have tags there, but no single walk finds both.
	Apart bool
	// Err is why the tags may be outdated, or nil.
	Err error
}

// Error returns a message with the categories, the visited objects and their tags.
func (e *MissingTagError) Error() string {
	var b strings.Builder
	walked := strings.Join(e.Walked, ", ")
	if e.Apart {
		fmt.Fprintf(&b, "vm %s: no single path to the root has tags of both categories; searched %s", e.VM, walked)
	} else {
		fmt.Fprintf(&b, "vm %s: no tag of category %s on any of %s", e.VM, strings.Join(e.Categories, " or "), walked)
	}
	if len(e.Tags) > 0 {
		b.WriteString("; found " + strings.Join(e.Tags, ", "))
	}
	if e.Err != nil {
		fmt.Fprintf(&b, ": %s", e.Err)
	}
	return b.String()
}

// Unwrap returns Err.
func (e *MissingTagError) Unwrap() error { return e.Err }

// miss walks again and records everything it visits.
func (w walker) miss(vm *VM, c Categories) *MissingTagError {
	e := &MissingTagError{VM: vm, Err: w.tags.missing()}
	var regions, zones bool
	seen := map[types.ManagedObjectReference]bool{}
	for _, start := range walks(vm) {
		if e.Found == (Zone{}) {
			e.Found, _ = w.walk(vm, start)
		}
		for ref := start; ref.Value != "" && !seen[ref]; ref = w.up(vm, ref) {
			seen[ref] = true
			object := fmt.Sprintf("%s %q", ref.Type, w.index.name(ref))
			e.Walked = append(e.Walked, object)
			for _, name := range w.tags.region[ref] {
				e.Tags = append(e.Tags, fmt.Sprintf("%q (%s) on %s", name, c.Region, object))
				regions = true
			}
			for _, name := range w.tags.zone[ref] {
				e.Tags = append(e.Tags, fmt.Sprintf("%q (%s) on %s", name, c.Zone, object))
				zones = true
			}
		}
	}
	e.Apart = regions && zones
	if e.Found.Region == "" {
		e.Categories = append(e.Categories, fmt.Sprintf("%q", c.Region))
	}
	if e.Found.Zone == "" && (c.Zone != c.Region || e.Found.Region != "") {
		e.Categories = append(e.Categories, fmt.Sprintf("%q", c.Zone))
	}
	return e
}
