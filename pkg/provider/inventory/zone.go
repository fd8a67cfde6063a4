package inventory

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/vmware/govmomi/vim25/types"

	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/provider/absent"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/provider/vcenter"
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
	// Visited lists the visited objects once each with their types: HostSystem "west-1". The order is: from the host upward,
	// then from the resource pool, then from the VM.
	Visited []string
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
	walked := strings.Join(e.Visited, ", ")
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
			e.Visited = append(e.Visited, object)
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

// Datacenter returns the inventory path of vm's datacenter, "/folder/name", or "" if it is unknown.
func (inv *Inventory) Datacenter(vm *VM) string {
	m := inv.member(vm.VCenter)
	if m == nil {
		return ""
	}
	m.index.mu.RLock()
	defer m.index.mu.RUnlock()
	if dc, ok := m.index.datacenterOf(vm); ok {
		return m.index.path(dc)
	}
	return ""
}

// datacenterRef is a datacenter, one value for all its VMs.
type datacenterRef struct{ ref types.ManagedObjectReference }

// datacenterOf returns the VM's datacenter. The lock is held.
func (x *index) datacenterOf(vm *VM) (dc types.ManagedObjectReference, ok bool) {
	for _, ref := range [...]types.ManagedObjectReference{vm.Parent, vm.Host, vm.ResourcePool} {
		for range maxDepth {
			if ref.Type == "Datacenter" {
				return ref, true
			}
			if ref.Value == "" {
				break
			}
			ref = x.entities[ref].parent
		}
	}
	return dc, false
}

// datacenterRefOf is datacenterOf for callers that hold writing as well.
func (x *index) datacenterRefOf(vm *VM) *datacenterRef {
	ref, ok := x.datacenterOf(vm)
	if !ok {
		return nil
	}
	p := x.datacenterRefs[ref]
	if p == nil {
		p = &datacenterRef{ref: ref}
		x.datacenterRefs[ref] = p
		x.layout.Add(1)
	}
	return p
}

// updateDatacenters updates the datacenter of every VM. writing and the lock are held.
func (x *index) updateDatacenters() {
	var moved []*VM
	for _, vm := range x.vms {
		if p := x.datacenterRefOf(vm); p != vm.dc {
			fresh := *vm
			fresh.dc = p
			moved = append(moved, &fresh)
		}
	}
	for _, vm := range moved {
		x.put(vm)
	}
}

// datacenterSet are the datacenters that match a member's configuration.
type datacenterSet struct {
	layout uint64 // the index's layout at the time of the selection
	dcs    map[*datacenterRef]struct{}
}

// inside reports whether the VM, which must be from the index, is below one of the configured datacenters. Without any it
// returns true.
func (m *member) inside(vm *VM) bool {
	if len(m.datacenters) == 0 {
		return true
	}
	s := m.inScope.Load()
	if layout := m.index.layout.Load(); s == nil || s.layout != layout {
		s = m.selectDatacenters(layout)
	}
	_, ok := s.dcs[vm.dc]
	return ok
}

func (m *member) selectDatacenters(layout uint64) *datacenterSet {
	x := m.index
	x.mu.RLock()
	defer x.mu.RUnlock()
	s := &datacenterSet{layout: layout, dcs: map[*datacenterRef]struct{}{}}
	wanted := absent.Split(m.datacenters, x.places())
	for ref, p := range x.datacenterRefs {
		if slices.ContainsFunc(wanted, x.place(ref).Is) {
			s.dcs[p] = struct{}{}
		}
	}
	m.inScope.Store(s)
	return s
}

// filter returns the VMs that are inside. It allocates only if some are and some are not.
func (m *member) filter(vms []*VM) []*VM {
	if len(m.datacenters) == 0 {
		return vms
	}
	n := 0
	for _, vm := range vms {
		if m.inside(vm) {
			n++
		}
	}
	switch n {
	case 0:
		return nil
	case len(vms):
		return vms
	}
	return slices.DeleteFunc(slices.Clone(vms), func(vm *VM) bool { return !m.inside(vm) })
}

// scope returns the datacenters whose VMs are indexed. A configured datacenter that does not exist is an error: it may have
// been renamed, and its VMs would be reported gone.
func (m *member) scope() ([]types.ManagedObjectReference, error) {
	m.index.mu.RLock()
	defer m.index.mu.RUnlock()
	all := m.index.datacenters()
	if len(all) == 0 {
		return nil, fmt.Errorf("vcenter %q: no datacenter is visible; check the account's permissions", m.client.Name())
	}
	if len(m.datacenters) == 0 {
		return all, nil
	}
	if err := m.lacks(m.absentAmong(m.index.places())); err != nil {
		return nil, err
	}
	var scope []types.ManagedObjectReference
	for _, want := range absent.Split(m.datacenters, m.index.places()) {
		for _, dc := range all {
			if m.index.place(dc).Is(want) && !slices.Contains(scope, dc) {
				scope = append(scope, dc)
			}
		}
	}
	return scope, nil
}

// maxDepth bounds a walk upward: a vCenter may report a loop while objects move.
const maxDepth = 256

// entity is an object above the VMs.
type entity struct {
	name   string
	parent types.ManagedObjectReference
}

// updateEntity applies an update of an object above the VMs. If asked, it reports whether that may change the place of VMs
// or its path. writing and the lock are held.
func (x *index) updateEntity(u vcenter.Update, asked bool) (matters bool) {
	old, known := x.entities[u.Ref]
	if u.Kind == vcenter.Leave {
		delete(x.entities, u.Ref)
		x.layout.Add(1)
		return asked && known && x.holdsAny(u.Ref)
	}
	var e entity
	if u.Kind == vcenter.Modify {
		e = old
	}
	for _, c := range u.Changes {
		switch c.Name {
		case "name":
			e.name, _ = c.Val.(string)
		case "parent":
			e.parent = reference(c.Val, &x.strings)
		}
	}
	if known && e == old {
		return false
	}
	x.entities[x.strings.ref(u.Ref)] = e
	x.layout.Add(1)
	if !asked {
		return false
	}
	if !known {
		return x.holdsAny(u.Ref)
	}
	inPath := u.Ref.Type == "Folder" || u.Ref.Type == "Datacenter"
	return e.parent != old.parent || inPath && e.name != old.name
}

// holdsAny reports whether the object has children. It scans everything, so it is only for rare events.
func (x *index) holdsAny(ref types.ManagedObjectReference) bool {
	for _, e := range x.entities {
		if e.parent == ref {
			return true
		}
	}
	for _, vm := range x.vms {
		if vm.Parent == ref || vm.Host == ref || vm.ResourcePool == ref {
			return true
		}
	}
	return false
}

// name returns an object's inventory name, or its reference if the name is unknown. The lock is held.
func (x *index) name(ref types.ManagedObjectReference) string {
	if e, ok := x.entities[ref]; ok && e.name != "" {
		return e.name
	}
	if vm := x.vms[ref]; vm != nil {
		return vm.Name
	}
	return ref.Value
}

// datacenters returns the references of all datacenters in a stable order. The lock is held.
func (x *index) datacenters() []types.ManagedObjectReference {
	var refs []types.ManagedObjectReference
	for ref := range x.entities {
		if ref.Type == "Datacenter" {
			refs = append(refs, ref)
		}
	}
	slices.SortFunc(refs, func(a, b types.ManagedObjectReference) int { return cmp.Compare(a.Value, b.Value) })
	return refs
}

// path returns the inventory path of an object above the VMs, without the root folder. The lock is held.
func (x *index) path(ref types.ManagedObjectReference) string {
	path := ""
	for range maxDepth {
		e, known := x.entities[ref]
		if !known {
			break
		}
		path = "/" + e.name + path
		ref = e.parent
	}
	return path
}
