// Package tag is the faults of tags, by which a cloud provider knows regions and zones: removed, moved, doubled,
// contradicting each other, in a category of another name.
//
// Tags are where a topology puts them. A kind without a suffix is about datacenters; those of compute clusters, hosts and
// VMs end in -cluster, -host and -vm.
//
// Floor 2, inside pkg/sim/fault.
package tag
