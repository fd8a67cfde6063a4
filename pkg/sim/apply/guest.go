package apply

import (
	"context"
	"encoding/base64"
	"fmt"
	"net/netip"
	"slices"
	"strings"

	"github.com/vmware/govmomi/object"
	"github.com/vmware/govmomi/vim25/types"
	"gopkg.in/yaml.v3"

	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/topology"
)

// customize leaves it to cloud-init to give a guest its hostname and addresses when its VM is powered on. A customization
// of Linux as the API has it knows one IPv4 address for each card, cloud-init all of them.
func customize(ctx context.Context, vm *object.VirtualMachine, spec *placedVM) error {
	type match struct {
		MAC string `yaml:"macaddress"`
	}
	type ethernet struct {
		Match     match    `yaml:"match"`
		Addresses []string `yaml:"addresses,omitempty"`
	}
	ethernets := map[string]ethernet{}
	for i, nic := range spec.NICs {
		ethernets[fmt.Sprintf("nic%d", i)] = ethernet{match{strings.ToLower(nic.MAC)}, nic.Addresses}
	}
	metadata, err := yaml.Marshal(map[string]any{
		"instance-id": spec.InstanceUUID, "local-hostname": spec.Hostname,
		"network": map[string]any{"version": 2, "ethernets": ethernets},
	})
	if err != nil {
		return err
	}
	t, err := vm.Customize(ctx, types.CustomizationSpec{
		Options:  &types.CustomizationLinuxOptions{},
		Identity: &types.CustomizationCloudinitPrep{Metadata: string(metadata)},
	})
	if err := wait(ctx, t, err); err != nil {
		return fmt.Errorf("customization: %w", err)
	}
	return nil
}

// settings are the settings that a VM of a topology has.
func settings(vm *placedVM) ([]types.BaseOptionValue, error) {
	var all []types.BaseOptionValue
	add := func(key, value string) { all = append(all, &types.OptionValue{Key: key, Value: value}) }
	given := func(key string) bool {
		return slices.ContainsFunc(vm.ExtraConfig, func(kv topology.KeyValue) bool { return strings.EqualFold(kv.Key, key) })
	}
	if vm.IsNode() && !given("disk.EnableUUID") {
		add("disk.EnableUUID", "TRUE")
	}
	if vm.GuestInfo == topology.Yes && !given("guestinfo.metadata") {
		m, err := metadata(vm)
		if err != nil {
			return nil, err
		}
		add("guestinfo.metadata", base64.StdEncoding.EncodeToString(m))
		add("guestinfo.metadata.encoding", "base64")
	}
	for _, kv := range vm.ExtraConfig {
		add(kv.Key, kv.Value)
	}
	return all, nil
}

// metadata is what cloud-init's VMware data source reads from guestinfo.metadata: the network configuration, version 1.
func metadata(vm *placedVM) ([]byte, error) {
	type subnet struct {
		Type    string `yaml:"type"`
		Address string `yaml:"address"`
		Gateway string `yaml:"gateway,omitempty"`
	}
	type entry struct {
		Type    string   `yaml:"type"`
		Name    string   `yaml:"name"`
		MAC     string   `yaml:"mac_address"`
		Subnets []subnet `yaml:"subnets,omitempty"`
	}
	type network struct {
		Version int     `yaml:"version"`
		Config  []entry `yaml:"config"`
	}
	m := struct {
		InstanceID    string  `yaml:"instance-id"`
		LocalHostname string  `yaml:"local-hostname"`
		Network       network `yaml:"network"`
	}{vm.InstanceUUID, vm.Hostname, network{Version: 1}}
	for i, nic := range vm.NICs {
		e := entry{Type: "physical", Name: fmt.Sprintf("eth%d", i), MAC: strings.ToLower(nic.MAC)}
		var gateway netip.Addr
		if _, n := vm.dc.Network(nic.Network); n != nil {
			gateway = n.Gateway()
		}
		for _, text := range nic.Addresses {
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
			e.Subnets = append(e.Subnets, s)
		}
		m.Network.Config = append(m.Network.Config, e)
	}
	return yaml.Marshal(m)
}

// guestDiffers tells whether a guest is to have another name or other addresses. What it reports may differ from what it
// was given, as addresses of DHCP do, so that what the topology had counts, if it had the VM.
func guestDiffers(m *machine) bool {
	if !m.guest() {
		return false
	}
	want := addresses(m.VM)
	if m.before != nil {
		return !m.before.guest() || m.before.Hostname != m.Hostname || !slices.Equal(addresses(m.before.VM), want)
	}
	name := get[string](m.live, "guest.hostName")
	if name == "" {
		return false // it is off, or has no tools: nobody knows
	}
	var now []string
	for _, nic := range get[types.ArrayOfGuestNicInfo](m.live, "guest.net").GuestNicInfo {
		for _, a := range nic.IpAddress {
			now = append(now, strings.ToLower(nic.MacAddress)+" "+a)
		}
	}
	slices.Sort(now)
	return name != m.Hostname || !slices.Equal(now, want)
}

// addresses are the addresses of a VM's cards, sorted.
func addresses(vm *topology.VM) []string {
	var all []string
	for _, nic := range vm.NICs {
		for _, a := range nic.Addresses {
			bare, _, _ := strings.Cut(a, "/")
			all = append(all, strings.ToLower(nic.MAC)+" "+bare)
		}
	}
	slices.Sort(all)
	return all
}
