package record

import (
	"net/netip"
	"strings"

	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/topology"
)

// duplicates are the things that are there twice, as in the vCenters.
func duplicates(top *topology.Topology) []topology.Duplicate {
	seen, twice := map[string]bool{}, map[topology.Duplicate]bool{}
	note := func(kind topology.Duplicate, value string) {
		if value = string(kind) + " " + strings.ToLower(value); seen[value] {
			twice[kind] = true
		}
		seen[value] = true
	}
	for _, v := range top.Spec.VCenters {
		for _, dc := range v.Datacenters {
			for _, vm := range dc.VMs {
				note(topology.DuplicateName, v.Name+"/"+dc.Name+"/"+vm.Folder+"/"+vm.Name)
				if vm.UUID != "" {
					note(topology.DuplicateUUID, vm.UUID)
				}
				if vm.InstanceUUID != "" {
					note(topology.DuplicateInstanceUUID, vm.InstanceUUID)
				}
				if vm.IsNode() {
					note(topology.DuplicateHostname, vm.Hostname)
				}
				for _, nic := range vm.NICs {
					if nic.MAC != "" {
						note(topology.DuplicateMAC, nic.MAC)
					}
					for _, address := range nic.Addresses {
						if p, err := netip.ParsePrefix(address); err == nil {
							note(topology.DuplicateAddress, p.Addr().String())
						}
					}
				}
			}
		}
	}
	var all []topology.Duplicate
	for _, kind := range []topology.Duplicate{
		topology.DuplicateName, topology.DuplicateHostname, topology.DuplicateUUID, topology.DuplicateInstanceUUID,
		topology.DuplicateAddress, topology.DuplicateMAC,
	} {
		if twice[kind] {
			all = append(all, kind)
		}
	}
	return all
}
