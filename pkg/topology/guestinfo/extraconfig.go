package guestinfo

import (
	"encoding/base64"
	"slices"
	"strings"

	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/topology"
)

// ExtraConfig is the VM's advanced configuration. What the topology says of a key counts.
func ExtraConfig(dc *topology.Datacenter, vm *topology.VM) ([]topology.KeyValue, error) {
	var all []topology.KeyValue
	given := func(key string) bool {
		return slices.ContainsFunc(vm.ExtraConfig, func(kv topology.KeyValue) bool { return strings.EqualFold(kv.Key, key) })
	}
	if vm.IsNode() && !given("disk.EnableUUID") {
		// What every guide for Kubernetes on vSphere demands: without it a node cannot tell its disks apart.
		all = append(all, topology.KeyValue{Key: "disk.EnableUUID", Value: "TRUE"})
	}
	if vm.GuestInfo == topology.Yes && !given("guestinfo.metadata") {
		m, err := Metadata(dc, vm)
		if err != nil {
			return nil, err
		}
		all = append(all,
			topology.KeyValue{Key: "guestinfo.metadata", Value: base64.StdEncoding.EncodeToString(m)},
			topology.KeyValue{Key: "guestinfo.metadata.encoding", Value: "base64"})
	}
	return append(all, vm.ExtraConfig...), nil
}
