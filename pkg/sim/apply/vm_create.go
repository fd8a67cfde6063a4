package apply

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/vmware/govmomi/object"
	"github.com/vmware/govmomi/vim25"
	"github.com/vmware/govmomi/vim25/types"
	"go.yaml.in/yaml/v3"

	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/topology"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/topology/guestinfo"
)

// systemKiB is the size of the system disk of a VM.
const systemKiB = 20 << 20

// createVM plans the creation of a VM.
func (p *planner) createVM(m *plannedVM) {
	what := fmt.Sprintf("%d CPUs, %s, on host %s", m.CPUs, m.Memory, m.Host)
	switch {
	case m.Template == topology.Yes:
		what += ", template"
	case m.Power == topology.PowerOff:
		what += ", off"
	}
	p.step(Create, KindVM, m.path, what, func(ctx context.Context, c *vim25.Client) error {
		vm, err := p.makeVM(ctx, c, m)
		if err != nil {
			return err
		}
		m.ref = vm.Reference()
		if m.guest() {
			if err := customize(ctx, vm, m.placedVM); err != nil {
				return err
			}
		}
		for _, s := range m.Snapshots {
			t, err := vm.CreateSnapshot(ctx, s.Name, s.Description, false, false)
			if err := wait(ctx, t, err); err != nil {
				return fmt.Errorf("snapshot %q: %w", s.Name, err)
			}
		}
		switch {
		case m.Template == topology.Yes:
			return vm.MarkAsTemplate(ctx)
		case m.Power == topology.PowerOff:
			return nil
		}
		t, err := vm.PowerOn(ctx)
		return wait(ctx, t, err)
	})
}

// guest reports whether the VM's guest reports anything.
func (vm *placedVM) guest() bool { return vm.Tools != topology.No && vm.Template != topology.Yes }

// site is the place of a VM.
type site struct{ folder, pool, host, datastore ref }

// Keys of what a VM needs.
func (vm *placedVM) folderKey() string    { return parent(vm.key) }
func (vm *placedVM) datastoreKey() string { return dcKey(vm.dc) + "/datastore/" + vm.Datastore }
func (vm *placedVM) hostKey() string {
	cluster, host := vm.dc.Host(vm.Host)
	return hostKey(vm.dc, cluster, host)
}

func (vm *placedVM) poolKey() string {
	key := parent(vm.hostKey()) + "/Resources"
	if vm.Pool != "" {
		key += "/" + vm.Pool
	}
	return key
}

func (p *planner) site(vm *placedVM) (s site, err error) {
	for key, r := range map[string]*ref{
		vm.folderKey(): &s.folder, vm.poolKey(): &s.pool, vm.hostKey(): &s.host, vm.datastoreKey(): &s.datastore,
	} {
		if *r, err = p.find(key); err != nil {
			return s, err
		}
	}
	return s, nil
}

func (p *planner) makeVM(ctx context.Context, c *vim25.Client, m *plannedVM) (*object.VirtualMachine, error) {
	at, err := p.site(m.placedVM)
	if err != nil {
		return nil, err
	}
	extra, err := settings(m.placedVM)
	if err != nil {
		return nil, err
	}
	var devices object.VirtualDeviceList
	scsi, err := devices.CreateSCSIController("pvscsi")
	if err != nil {
		return nil, err
	}
	devices = append(devices, scsi)
	disk := devices.CreateDisk(scsi.(types.BaseVirtualController), at.datastore, "")
	disk.CapacityInKB, disk.CapacityInBytes = systemKiB, systemKiB<<10
	devices = append(devices, disk)
	for _, nic := range m.NICs {
		card, err := p.nic(ctx, c, m.placedVM, nic)
		if err != nil {
			return nil, err
		}
		devices = append(devices, card)
	}
	change, err := devices.ConfigSpec(types.VirtualDeviceConfigSpecOperationAdd)
	if err != nil {
		return nil, err
	}
	spec := types.VirtualMachineConfigSpec{
		Name: m.Name, Uuid: m.UUID, InstanceUuid: m.InstanceUUID, GuestId: m.GuestID, Version: m.HardwareVersion,
		NumCPUs: m.CPUs, NumCoresPerSocket: types.NewInt32(1), MemoryMB: int64(m.Memory.MiB()),
		Files:        &types.VirtualMachineFileInfo{VmPathName: "[" + m.Datastore + "]"},
		DeviceChange: change, ExtraConfig: extra,
	}
	t, err := object.NewFolder(c, at.folder).CreateVM(ctx, spec, object.NewResourcePool(c, at.pool), object.NewHostSystem(c, at.host))
	if err != nil {
		return nil, err
	}
	info, err := t.WaitForResult(ctx, nil)
	if err != nil {
		return nil, err
	}
	r, _ := info.Result.(ref)
	return object.NewVirtualMachine(c, r), nil
}

// nic returns a NIC of a VM.
func (p *planner) nic(ctx context.Context, c *vim25.Client, vm *placedVM, nic topology.NIC) (types.BaseVirtualDevice, error) {
	backing, err := p.backing(ctx, c, vm, nic.Network)
	if err != nil {
		return nil, err
	}
	device, err := object.EthernetCardTypes().CreateEthernetCard("vmxnet3", backing)
	if err != nil {
		return nil, err
	}
	card := device.(types.BaseVirtualEthernetCard).GetVirtualEthernetCard()
	card.AddressType, card.MacAddress = string(types.VirtualEthernetCardMacTypeManual), nic.MAC
	return device, nil
}

// backing returns the connection of a NIC to a network.
func (p *planner) backing(ctx context.Context, c *vim25.Client, vm *placedVM, network string) (types.BaseVirtualDeviceBackingInfo, error) {
	r, err := p.find(dcKey(vm.dc) + "/network/" + network)
	if err != nil {
		return nil, err
	}
	if r.Type == "DistributedVirtualPortgroup" {
		return object.NewDistributedVirtualPortgroup(c, r).EthernetCardBackingInfo(ctx)
	}
	return object.NewNetwork(c, r).EthernetCardBackingInfo(ctx)
}

// nicsDiffer compares networks and MAC addresses of the NICs, in order.
func (p *planner) nicsDiffer(v *vmChange) {
	now := nics(v.m.live)
	for i, nic := range v.m.NICs {
		if i >= len(now) {
			v.cards = true
			v.say("NIC %d on %s", i+1, nic.Network)
			continue
		}
		network := p.byKey[dcKey(v.m.dc)+"/network/"+nic.Network]
		if network == nil || networkOf(now[i]) != network.ref {
			v.cards = true
			v.say("NIC %d → %s", i+1, nic.Network)
		}
		if mac := now[i].GetVirtualEthernetCard().MacAddress; !strings.EqualFold(mac, nic.MAC) {
			v.cards, v.off = true, true
			v.say("NIC %d %s → %s", i+1, mac, nic.MAC)
		}
	}
	if extra := len(now) - len(v.m.NICs); extra > 0 {
		v.cards = true
		v.say("%d NICs less", extra)
	}
}

func nics(o *entity) []types.BaseVirtualEthernetCard {
	var all []types.BaseVirtualEthernetCard
	for _, d := range get[types.ArrayOfVirtualDevice](o, "config.hardware.device").VirtualDevice {
		if card, ok := d.(types.BaseVirtualEthernetCard); ok {
			all = append(all, card)
		}
	}
	return all
}

func networkOf(card types.BaseVirtualEthernetCard) ref {
	switch b := card.GetVirtualEthernetCard().Backing.(type) {
	case *types.VirtualEthernetCardNetworkBackingInfo:
		if b.Network != nil {
			return *b.Network
		}
	case *types.VirtualEthernetCardDistributedVirtualPortBackingInfo:
		return ref{Type: "DistributedVirtualPortgroup", Value: b.Port.PortgroupKey}
	}
	return ref{}
}

// nicChanges returns the changes from the VM's current NICs to those of the topology.
func (p *planner) nicChanges(ctx context.Context, c *vim25.Client, m *plannedVM) ([]types.BaseVirtualDeviceConfigSpec, error) {
	var changes []types.BaseVirtualDeviceConfigSpec
	add := func(op types.VirtualDeviceConfigSpecOperation, d types.BaseVirtualDevice) {
		changes = append(changes, &types.VirtualDeviceConfigSpec{Operation: op, Device: d})
	}
	now := nics(m.live)
	for i, nic := range m.NICs {
		if i >= len(now) {
			card, err := p.nic(ctx, c, m.placedVM, nic)
			if err != nil {
				return nil, err
			}
			add(types.VirtualDeviceConfigSpecOperationAdd, card)
			continue
		}
		backing, err := p.backing(ctx, c, m.placedVM, nic.Network)
		if err != nil {
			return nil, err
		}
		card := now[i].GetVirtualEthernetCard()
		card.Backing, card.AddressType, card.MacAddress = backing, string(types.VirtualEthernetCardMacTypeManual), nic.MAC
		add(types.VirtualDeviceConfigSpecOperationEdit, now[i].(types.BaseVirtualDevice))
	}
	for _, extra := range now[min(len(m.NICs), len(now)):] {
		add(types.VirtualDeviceConfigSpecOperationRemove, extra.(types.BaseVirtualDevice))
	}
	return changes, nil
}

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
