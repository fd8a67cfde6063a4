package inventory

import (
	"fmt"
	"net/netip"
	"strconv"
	"strings"
	"time"

	"github.com/vmware/govmomi/object"
	"github.com/vmware/govmomi/vim25/mo"
	"github.com/vmware/govmomi/vim25/types"

	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/sim/guest"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/topology"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/topology/guestinfo"
)

// configure sets the VM's configuration without its settings, devices and files.
func configure(vm *mo.VirtualMachine, spec *topology.VM, r release, now time.Time) {
	hardware := spec.HardwareVersion
	if hardware == "" {
		hardware = r.hardwareVersion()
	}
	name := escape(spec.Name)
	full := fullName(spec.GuestID)
	resources := types.DefaultResourceConfigSpec()
	vm.Name = name
	vm.Config = &types.VirtualMachineConfigInfo{
		ChangeVersion:      strconv.FormatInt(now.UnixNano(), 10),
		Modified:           now,
		CreateDate:         &now,
		Name:               name,
		GuestFullName:      full,
		GuestId:            spec.GuestID,
		Version:            hardware,
		Uuid:               spec.UUID,
		InstanceUuid:       spec.InstanceUUID,
		Template:           spec.Template == topology.Yes,
		Firmware:           string(types.GuestOsDescriptorFirmwareTypeBios),
		Tools:              &types.ToolsConfigInfo{},
		MemoryAllocation:   &resources.MemoryAllocation,
		CpuAllocation:      &resources.CpuAllocation,
		LatencySensitivity: &types.LatencySensitivity{Level: types.LatencySensitivitySensitivityLevelNormal},
		BootOptions:        &types.VirtualMachineBootOptions{},
		Hardware: types.VirtualHardware{
			NumCPU:            spec.CPUs,
			NumCoresPerSocket: types.NewInt32(1),
			MemoryMB:          spec.Memory.MiB(),
		},
	}
	vm.Summary.Vm = &vm.Self
	vm.Summary.Config = types.VirtualMachineConfigSummary{
		Name:          name,
		Template:      vm.Config.Template,
		MemorySizeMB:  vm.Config.Hardware.MemoryMB,
		NumCpu:        spec.CPUs,
		Uuid:          spec.UUID,
		InstanceUuid:  spec.InstanceUUID,
		GuestId:       spec.GuestID,
		GuestFullName: full,
		HwVersion:     hardware,
	}
	vm.Summary.OverallStatus = types.ManagedEntityStatusGreen
	vm.Capability.ChangeTrackingSupported = true
}

// locate sets the place of the VM's files.
func (f vmFiles) locate(vm *mo.VirtualMachine, home object.DatastorePath) {
	dir := home.String()
	vm.Config.Files = types.VirtualMachineFileInfo{
		VmPathName:        dir + "/" + f.name + ".vmx",
		SnapshotDirectory: dir,
		SuspendDirectory:  dir,
		LogDirectory:      dir,
	}
	vm.Summary.Config.VmPathName = vm.Config.Files.VmPathName
}

// settle sets the place of the VM. A template has no pool.
func settle(vm *mo.VirtualMachine, at site) {
	vm.Runtime.Host = new(at.host.obj.Self)
	vm.Datastore = []types.ManagedObjectReference{at.datastore.obj.Self}
	if e := at.host.compute.obj.EnvironmentBrowser; e != nil {
		vm.EnvironmentBrowser = *e
	}
	if vm.Config.Template {
		return
	}
	vm.ResourcePool = new(at.pool.ref)
	if at.pool.vapp {
		vm.ParentVApp = new(at.pool.ref)
	}
}

// run sets the VM's state: off, or on with a guest that will report later.
func run(vm *mo.VirtualMachine, spec *topology.VM, now time.Time) {
	vm.Runtime.ConnectionState = types.VirtualMachineConnectionStateConnected
	vm.Runtime.PowerState = types.VirtualMachinePowerStatePoweredOff
	vm.Runtime.MaxCpuUsage = spec.CPUs * cpuMhz
	vm.Runtime.MaxMemoryUsage = vm.Config.Hardware.MemoryMB
	if spec.Power != topology.PowerOff && !vm.Config.Template {
		vm.Runtime.PowerState = types.VirtualMachinePowerStatePoweredOn
		vm.Runtime.BootTime = &now
	}
	vm.Summary.Runtime = vm.Runtime
	vm.Summary.QuickStats.GuestHeartbeatStatus = types.ManagedEntityStatusGray
	vm.GuestHeartbeatStatus = types.ManagedEntityStatusGray
	vm.Guest = &types.GuestInfo{
		ToolsStatus:        types.VirtualMachineToolsStatusToolsNotInstalled,
		ToolsVersion:       "0",
		ToolsRunningStatus: string(types.VirtualMachineToolsRunningStatusGuestToolsNotRunning),
		GuestId:            spec.GuestID,
		GuestFamily:        family(spec.GuestID),
		GuestState:         string(types.VirtualMachineGuestStateNotRunning),
	}
	vm.Summary.Guest = &types.VirtualMachineGuestSummary{
		GuestId:            spec.GuestID,
		ToolsStatus:        vm.Guest.ToolsStatus,
		ToolsRunningStatus: vm.Guest.ToolsRunningStatus,
	}
}

// family returns the family of an operating system.
func family(guestID string) string {
	if strings.HasPrefix(guestID, "win") {
		return string(types.VirtualMachineGuestOsFamilyWindowsGuest)
	}
	return string(types.VirtualMachineGuestOsFamilyLinuxGuest)
}

// settings returns the VM's advanced configuration.
func settings(dc *topology.Datacenter, vm *topology.VM) ([]types.BaseOptionValue, error) {
	// govcsim identifies a simulator to programs, as in vcsim.
	all := []types.BaseOptionValue{&types.OptionValue{Key: "govcsim", Value: "TRUE"}}
	own, err := guestinfo.ExtraConfig(dc, vm)
	for _, kv := range own {
		all = append(all, &types.OptionValue{Key: kv.Key, Value: kv.Value})
	}
	return all, err
}

// guestInfo returns what the guest of the VM reports when it is up.
func guestInfo(spec *topology.VM) (guest.Info, error) {
	info := guest.Info{
		HostName:  spec.Hostname,
		FullName:  fullName(spec.GuestID),
		Addresses: make(map[string][]netip.Prefix),
	}
	for _, n := range spec.NICs {
		for _, text := range n.Addresses {
			p, err := prefix(text)
			if err != nil {
				return info, fmt.Errorf("address %q: %w", text, err)
			}
			mac := strings.ToLower(n.MAC)
			info.Addresses[mac] = append(info.Addresses[mac], p)
		}
	}
	return info, nil
}

// prefix parses an address with or without prefix length.
func prefix(text string) (netip.Prefix, error) {
	if strings.Contains(text, "/") {
		return netip.ParsePrefix(text)
	}
	a, err := netip.ParseAddr(text)
	if err != nil {
		return netip.Prefix{}, err
	}
	bits := 64
	if a.Is4() {
		bits = 24
	}
	return netip.PrefixFrom(a, bits), nil
}

// fullName returns vCenter's name of an operating system for guest IDs of Kubernetes nodes, and any other ID unchanged.
func fullName(id string) string {
	switch id {
	case "ubuntu64Guest":
		return "Ubuntu Linux (64-bit)"
	case "debian12_64Guest":
		return "Debian GNU/Linux 12 (64-bit)"
	case "debian11_64Guest":
		return "Debian GNU/Linux 11 (64-bit)"
	case "rhel9_64Guest":
		return "Red Hat Enterprise Linux 9 (64-bit)"
	case "rhel8_64Guest":
		return "Red Hat Enterprise Linux 8 (64-bit)"
	case "rockylinux_64Guest":
		return "Rocky Linux (64-bit)"
	case "vmwarePhoton64Guest":
		return "VMware Photon OS (64-bit)"
	case "other5xLinux64Guest":
		return "Other 5.x or later Linux (64-bit)"
	case "otherLinux64Guest":
		return "Other Linux (64-bit)"
	case "windows2022srvNext_64Guest":
		return "Microsoft Windows Server 2025 (64-bit)"
	case "windows2019srvNext_64Guest":
		return "Microsoft Windows Server 2022 (64-bit)"
	case "windows2019srv_64Guest":
		return "Microsoft Windows Server 2019 (64-bit)"
	}
	return id
}
