package apply

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/vmware/govmomi/object"
	"github.com/vmware/govmomi/vim25/types"
	"go.yaml.in/yaml/v3"

	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/topology"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/topology/guestinfo"
)

// customize sets hostname and addresses of a guest through cloud-init, at the next power-on. The API's customization of Linux has
// one IPv4 address for each NIC, cloud-init has all.
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

// settings returns the settings of a VM of a topology.
func settings(vm *placedVM) ([]types.BaseOptionValue, error) {
	own, err := guestinfo.ExtraConfig(vm.dc, vm.VM)
	var all []types.BaseOptionValue
	for _, kv := range own {
		all = append(all, &types.OptionValue{Key: kv.Key, Value: kv.Value})
	}
	return all, err
}

// guestDiffers reports whether a guest must get another name or other addresses. A report may differ from the topology, as with
// DHCP, so it compares with the previous topology, if that had the VM.
func guestDiffers(m *plannedVM) bool {
	if !m.guest() {
		return false
	}
	want := addresses(m.VM)
	if m.before != nil {
		return !m.before.guest() || m.before.Hostname != m.Hostname || !slices.Equal(addresses(m.before.VM), want)
	}
	name := get[string](m.live, "guest.hostName")
	if name == "" {
		return false // it is off or has no tools: unknown
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

// addresses returns the sorted addresses of a VM's NICs.
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
