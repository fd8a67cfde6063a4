package guestinfo

import (
	"encoding/base64"
	"fmt"
	"net/netip"
	"slices"
	"strings"

	"go.yaml.in/yaml/v3"

	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/topology"
)

// ExtraConfig returns the VM's advanced configuration. Settings of the topology take precedence.
func ExtraConfig(dc *topology.Datacenter, vm *topology.VM) ([]topology.KeyValue, error) {
	var all []topology.KeyValue
	given := func(key string) bool {
		return slices.ContainsFunc(vm.ExtraConfig, func(kv topology.KeyValue) bool { return strings.EqualFold(kv.Key, key) })
	}
	if vm.IsNode() && !given("disk.EnableUUID") {
		// Required for Kubernetes on vSphere: without it a node cannot identify its disks.
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

// metadata is the content of guestinfo.metadata for cloud-init's VMware data source.
type metadata struct {
	InstanceID    string        `yaml:"instance-id"`
	LocalHostname string        `yaml:"local-hostname"`
	Network       networkConfig `yaml:"network"`
}

// networkConfig is cloud-init's network configuration, version 1.
type networkConfig struct {
	Version int            `yaml:"version"`
	Config  []networkEntry `yaml:"config"`
}

type networkEntry struct {
	Type    string   `yaml:"type"`
	Name    string   `yaml:"name"`
	MAC     string   `yaml:"mac_address"`
	Subnets []subnet `yaml:"subnets,omitempty"`
}

type subnet struct {
	Type    string `yaml:"type"` // static, static6
	Address string `yaml:"address"`
	Gateway string `yaml:"gateway,omitempty"`
}

// Metadata returns the VM's identity and addresses for cloud-init. The first address in a network with a CIDR gets the gateway.
// The topology must be resolved.
func Metadata(dc *topology.Datacenter, vm *topology.VM) ([]byte, error) {
	m := metadata{InstanceID: vm.InstanceUUID, LocalHostname: vm.Hostname, Network: networkConfig{Version: 1}}
	for i := range vm.NICs {
		entry := networkEntry{Type: "physical", Name: fmt.Sprintf("eth%d", i), MAC: strings.ToLower(vm.NICs[i].MAC)}
		var gateway netip.Addr
		if _, n := dc.Network(vm.NICs[i].Network); n != nil {
			gateway = n.Gateway()
		}
		for _, text := range vm.NICs[i].Addresses {
			p, err := netip.ParsePrefix(text)
			if err != nil {
				return nil, fmt.Errorf("address %q: %w", text, err)
			}
			s := subnet{Type: "static", Address: p.String()}
			if !p.Addr().Is4() {
				s.Type = "static6"
			}
			if gateway.IsValid() && p.Masked().Contains(gateway) {
				s.Gateway, gateway = gateway.String(), netip.Addr{}
			}
			entry.Subnets = append(entry.Subnets, s)
		}
		m.Network.Config = append(m.Network.Config, entry)
	}
	return yaml.Marshal(m)
}
