package inventory

import (
	"fmt"
	"strings"

	"github.com/vmware/govmomi/vim25/types"
)

// Zone is where a VM runs, by the tags above it.
type Zone struct {
	Region, Zone string
}

// Zone returns the region and zone of vm: for each, the tag on the nearest object, from the VM's host over its cluster,
// folders and datacenter up to the root. When that walk does not find both, the one from the VM's resource pool, and
// then the one from the VM itself over its folders, may; results of different walks are not mixed, as upstream's are
// not. Of several tags of one category on one object the first by name counts. Without both categories configured the
// zone is empty. A miss is a [MissingTagError] and has the tags read again soon.
//
// With [Config.ParityUpstream] a walk goes on as upstream's does (pkg/common/connectionmanager/zones.go): until it has
// both, what it has is replaced by what an object farther up has. Where upstream's answer depends on the order in which
// the vCenter lists the tags of an object, the tag that ends the walk counts first, then the first by name.
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

// walker looks for tags above VMs. The index's lock is held while it walks.
type walker struct {
	index  *index
	tags   *tagState
	parity bool
}

// walks are the objects at which walks begin, in turn. A VM in a vApp has no folder, and lies below its vApp.
func walks(vm *VM) [3]types.ManagedObjectReference {
	return [...]types.ManagedObjectReference{vm.Host, vm.ResourcePool, vm.Ref}
}

// zone returns what the first walk that finds both finds.
func (w walker) zone(vm *VM) (z Zone, ok bool) {
	for _, start := range walks(vm) {
		if z, ok := w.walk(vm, start); ok {
			return z, true
		}
	}
	return Zone{}, false
}

// walk goes up from start. Without both labels it returns the one it has seen.
func (w walker) walk(vm *VM, start types.ManagedObjectReference) (z Zone, ok bool) {
	for ref, n := start, 0; ref.Value != "" && n < maxDepth; ref, n = w.up(vm, ref), n+1 {
		w.see(&z, first(w.tags.region[ref]), first(w.tags.zone[ref]))
		if z.Region != "" && z.Zone != "" {
			return z, true
		}
	}
	return z, false
}

// see takes in the labels of the next object; empty ones are none.
func (w walker) see(z *Zone, region, zone string) {
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

// up returns the object above.
func (w walker) up(vm *VM, ref types.ManagedObjectReference) types.ManagedObjectReference {
	switch {
	case ref != vm.Ref:
		return w.index.entities[ref].parent
	case vm.Parent.Value != "":
		return vm.Parent
	}
	return vm.ResourcePool
}

func first(names []string) string {
	if len(names) == 0 {
		return ""
	}
	return names[0]
}

// MissingTagError says that a VM has no region, no zone, or neither, with all that somebody needs who is to put it right.
type MissingTagError struct {
	VM *VM
	// Found is what the first walk that found anything did find, Categories are those of which it found no tag, in quotes.
	Categories []string
	Found      Zone
	// Walked names the objects looked at, each once, with their types: HostSystem "west-1". They are those from the host
	// upward, then from the resource pool, then from the VM.
	Walked []string
	// Tags names the tags of both categories that are on them, in the same order: "us-west" (k8s-zone) on Datacenter "west".
	Tags []string
	// Apart says that there are tags of both categories, and that no walk finds both: results of different walks are not
	// mixed.
	Apart bool
	// Err is why the tags may not be the latest; nil when they are.
	Err error
}

// Error names the categories, everything that was looked at and the tags there.
func (e *MissingTagError) Error() string {
	var b strings.Builder
	walked := strings.Join(e.Walked, ", ")
	if e.Apart {
		fmt.Fprintf(&b, "vm %s: no way up has tags of both categories; looked at %s", e.VM, walked)
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

// miss walks once more and notes everything.
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
