package guestinfo_test

import (
	"encoding/base64"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/topology"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/topology/guestinfo"
)

const want = `instance-id: 9d3a1f2c-0000-0000-0000-000000000001
local-hostname: node-1
network:
    version: 1
    config:
        - type: physical
          name: eth0
          mac_address: "00:50:56:00:00:01"
          subnets:
            - type: static
              address: 10.0.0.7/24
              gateway: 10.0.0.1
            - type: static6
              address: fd00::7/64
`

// node is a VM with two addresses, the first of which can have the network's gateway.
func node() (*topology.Datacenter, *topology.VM) {
	dc := &topology.Datacenter{Networks: []topology.Network{{Name: "nodes", CIDR: "10.0.0.0/24"}}}
	vm := &topology.VM{Name: "node-1", Hostname: "node-1", InstanceUUID: "9d3a1f2c-0000-0000-0000-000000000001", GuestInfo: topology.Yes}
	vm.NICs = []topology.NIC{{Network: "nodes", MAC: "00:50:56:00:00:01", Addresses: []string{"10.0.0.7/24", "fd00::7/64"}}}
	return dc, vm
}

func TestMetadata(t *testing.T) {
	got, err := guestinfo.Metadata(node())
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(want, string(got)); diff != "" {
		t.Error(diff)
	}
}

func TestExtraConfig(t *testing.T) {
	encoded := base64.StdEncoding.EncodeToString([]byte(want))
	for name, tc := range map[string]struct {
		own  []topology.KeyValue
		want map[string]string
	}{
		"made": {want: map[string]string{"guestinfo.metadata": encoded, "guestinfo.metadata.encoding": "base64"}},
		"the topology's own counts, in any case": {
			own:  []topology.KeyValue{{Key: "GuestInfo.Metadata", Value: "mine"}},
			want: map[string]string{"GuestInfo.Metadata": "mine"},
		},
	} {
		t.Run(name, func(t *testing.T) {
			dc, vm := node()
			vm.ExtraConfig = tc.own
			all, err := guestinfo.ExtraConfig(dc, vm)
			if err != nil {
				t.Fatal(err)
			}
			got := map[string]string{}
			for _, kv := range all {
				if kv.Key != "disk.EnableUUID" {
					got[kv.Key] = kv.Value
				}
			}
			if diff := cmp.Diff(tc.want, got); diff != "" {
				t.Error(diff)
			}
		})
	}
}

func TestBadAddress(t *testing.T) {
	dc, vm := node()
	vm.NICs[0].Addresses = []string{"10.0.0.7"}
	if _, err := guestinfo.ExtraConfig(dc, vm); err == nil {
		t.Error("an address without a length is accepted")
	}
}
