package inventory

import (
	"fmt"
	"slices"
	"strings"

	"github.com/vmware/govmomi/vim25/types"
)

func firstLabel(host string) string {
	short, _, _ := strings.Cut(host, ".")
	return short
}

// Datacenter returns the inventory path of the datacenter that vm lies in, "/folder/name", empty when unknown.
func (inv *Inventory) Datacenter(vm *VM) string {
	m := inv.member(vm.VCenter)
	if m == nil {
		return ""
	}
	if dc, ok := m.index.datacenterOf(vm); ok {
		return m.index.path(dc)
	}
	return ""
}

// filter returns those of vms that lie below one of the configured datacenters; all when none are configured.
func (m *member) filter(vms []*VM) []*VM {
	if len(m.datacenters) == 0 || len(vms) == 0 {
		return vms
	}
	return slices.DeleteFunc(slices.Clone(vms), func(vm *VM) bool {
		dc, ok := m.index.datacenterOf(vm)
		return !ok || !slices.ContainsFunc(m.datacenters, func(want string) bool { return m.index.isDatacenter(dc, want) })
	})
}

// scope returns the datacenters whose VMs are indexed. One that is configured and not there is an error: it may have
// been renamed, and what is in it would be called gone.
func (m *member) scope() ([]types.ManagedObjectReference, error) {
	all := m.index.datacenters()
	if len(all) == 0 {
		return nil, fmt.Errorf("vcenter %q: no datacenter to be seen", m.client.Name())
	}
	if len(m.datacenters) == 0 {
		return all, nil
	}
	var scope []types.ManagedObjectReference
	for _, want := range m.datacenters {
		found := false
		for _, dc := range all {
			if !m.index.isDatacenter(dc, want) {
				continue
			}
			found = true
			if !slices.Contains(scope, dc) {
				scope = append(scope, dc)
			}
		}
		if !found {
			return nil, fmt.Errorf("vcenter %q: datacenter %q not found", m.client.Name(), want)
		}
	}
	return scope, nil
}

// isDatacenter reports whether want, a name, a path or a reference, means dc.
func (x *index) isDatacenter(dc types.ManagedObjectReference, want string) bool {
	switch {
	case want == dc.String():
		return true
	case strings.Contains(want, "/"):
		return strings.Trim(want, "/") == strings.Trim(x.path(dc), "/")
	}
	return want == x.name(dc)
}

// path returns the inventory path of an object above the VMs. The root folder is no part of it.
func (x *index) path(ref types.ManagedObjectReference) string {
	path := ""
	for _, r := range x.above(ref) {
		x.mu.RLock()
		e, known := x.entities[r]
		x.mu.RUnlock()
		if known {
			path = "/" + e.name + path
		}
	}
	return path
}

// datacenterOf walks up from the VM to its datacenter.
func (x *index) datacenterOf(vm *VM) (types.ManagedObjectReference, bool) {
	for _, start := range []types.ManagedObjectReference{vm.Parent, vm.Host, vm.ResourcePool} {
		for _, ref := range x.above(start) {
			if ref.Type == "Datacenter" {
				return ref, true
			}
		}
	}
	return types.ManagedObjectReference{}, false
}
