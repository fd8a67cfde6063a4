// Package tag has the faults of tags, from which a cloud provider reads regions and zones: tags that are removed, moved, doubled,
// contradictory, or in a category with another name.
//
// Tags are where a topology puts them. A kind without a suffix changes datacenters; those of compute clusters, hosts and VMs end
// in -cluster, -host and -vm.
//
// Floor 2, inside pkg/sim/fault.
package tag
