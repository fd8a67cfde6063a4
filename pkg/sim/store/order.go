package store

import (
	"cmp"
	"slices"
	"strconv"
	"strings"

	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/sim/internal/vc"
)

// entityTypes are the types of the inventory tree, in the order in which they are saved: stock's loader wants a host
// before what belongs to it.
func entityTypes() []string {
	return []string{
		"Folder", "Datacenter", "StoragePod", "Datastore", "Network", "OpaqueNetwork",
		"DistributedVirtualSwitch", "VmwareDistributedVirtualSwitch", "DistributedVirtualPortgroup",
		"ComputeResource", "ClusterComputeResource", "HostSystem", "ResourcePool", "VirtualApp", "VirtualMachine",
	}
}

// isEntity tells whether the type is one of the inventory tree.
func isEntity(kind string) bool { return slices.Contains(entityTypes(), kind) }

// compareRefs orders references as they are counted: vm-9 before vm-10.
func compareRefs(a, b vc.Ref) int {
	an, bn := number(a.Value), number(b.Value)
	return cmp.Or(cmp.Compare(a.Type, b.Type), cmp.Compare(an, bn), cmp.Compare(a.Value, b.Value))
}

// number is what a reference ends with, -1 where that is no number.
func number(value string) int64 {
	digits := value[len(strings.TrimRight(value, "0123456789")):]
	n, err := strconv.ParseInt(digits, 10, 64)
	if err != nil {
		return -1
	}
	return n
}

func distinct(refs []vc.Ref) []vc.Ref {
	slices.SortFunc(refs, compareRefs)
	return slices.Compact(refs)
}
