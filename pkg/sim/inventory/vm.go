package inventory

import (
	"errors"
	"fmt"
	"net/netip"
	"strings"
	"time"

	"github.com/vmware/govmomi/object"
	"github.com/vmware/govmomi/simulator"
	"github.com/vmware/govmomi/vim25/methods"
	"github.com/vmware/govmomi/vim25/types"

	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/sim/guest"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/sim/internal/vc"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/topology"
)

// systemDiskKB is the size of the disk that every VM has.
const systemDiskKB = 20 << 20

// machines makes the datacenter's VMs.
func (b *builder) machines(dc *datacenter) error {
	root := b.sim.Map.Get(dc.obj.VmFolder).(*simulator.Folder)
	var failed error
	var tasks []vc.Ref
	// As with hosts: begun in order, each when the one before has released the lock on its folder, and waited for at the
	// end.
	busy := root
	for _, spec := range dc.VMs {
		if failed = b.ctx.Err(); failed != nil {
			break
		}
		b.fresh().WithLock(busy, func() {})
		folder, err := b.folder(root, spec.Folder)
		if err != nil {
			failed = fmt.Errorf("VM %q: folder %q: %w", spec.Name, spec.Folder, err)
			break
		}
		busy = folder
		task, err := b.create(dc, folder, spec)
		if err != nil {
			failed = fmt.Errorf("VM %q: %w", spec.Name, err)
			break
		}
		tasks = append(tasks, task)
	}
	// All of them, whatever happened: a task that is left alone would go on writing files.
	for i, task := range tasks {
		spec := dc.VMs[i]
		result, err := vc.Wait(b.sim, task)
		if err != nil {
			failed = errors.Join(failed, fmt.Errorf("VM %q: %w", spec.Name, err))
			continue
		}
		vm := b.sim.Map.Get(result.(vc.Ref)).(*simulator.VirtualMachine)
		info, err := guestInfo(spec)
		if err != nil {
			failed = errors.Join(failed, fmt.Errorf("VM %q: %w", spec.Name, err))
			continue
		}
		b.guests[vm.Self] = info
		ctx := b.fresh()
		ctx.WithLock(vm, func() { finish(vm, spec, info) })
	}
	return failed
}

// create begins a task. vcsim is always told the host: choosing one by itself, it overwrites the cluster's list of hosts
// when only some of them mount the datastore.
func (b *builder) create(dc *datacenter, folder *simulator.Folder, spec topology.VM) (vc.Ref, error) {
	h, ok := dc.byName[spec.Host]
	if !ok {
		return vc.Ref{}, fmt.Errorf("host %q: no such host in the datacenter", spec.Host)
	}
	if b.sim.Map.FindByName(spec.Datastore, h.obj.Datastore) == nil {
		return vc.Ref{}, fmt.Errorf("datastore %q: not mounted on host %q", spec.Datastore, spec.Host)
	}
	home := dc.home(spec)
	devices, err := devices(dc, spec, home)
	if err != nil {
		return vc.Ref{}, err
	}
	config := types.VirtualMachineConfigSpec{
		Name:         spec.Name,
		Uuid:         spec.UUID,
		InstanceUuid: spec.InstanceUUID,
		GuestId:      spec.GuestID,
		NumCPUs:      spec.CPUs,
		MemoryMB:     int64(spec.Memory.MiB()),
		Version:      hardwareVersion,
		Files:        &types.VirtualMachineFileInfo{VmPathName: home + ".vmx"},
		DeviceChange: devices,
	}
	if spec.IsNode() {
		// What every guide for Kubernetes on vSphere demands: without it a node cannot tell its disks apart.
		config.ExtraConfig = []types.BaseOptionValue{&types.OptionValue{Key: "disk.EnableUUID", Value: "TRUE"}}
	}
	ctx := b.fresh()
	var task vc.Ref
	ctx.WithLock(folder, func() {
		task = folder.CreateVMTask(ctx, &types.CreateVM_Task{
			This: folder.Self, Config: config, Pool: *h.compute.ResourcePool, Host: &h.obj.Self,
		}).(*methods.CreateVM_TaskBody).Res.Returnval
	})
	return task, nil
}

// hardwareVersion is the newest of vSphere 8.0.3.
const hardwareVersion = "vmx-21"

// home chooses the VM's directory and returns the path of its files without extension: "[ds] web/web", and
// "[ds] web_1/web" for a second VM of that name in another folder. vcsim, left to itself, tries names until one is free.
func (dc *datacenter) home(spec topology.VM) string {
	name := strings.ReplaceAll(spec.Name, "/", "%2f")
	dir := name
	for i := 1; dc.taken[home{spec.Datastore, dir}]; i++ {
		dir = fmt.Sprintf("%s_%d", name, i)
	}
	dc.taken[home{spec.Datastore, dir}] = true
	return (&object.DatastorePath{Datastore: spec.Datastore, Path: dir + "/" + name}).String()
}

// home is a VM's directory.
type home struct{ datastore, dir string }

func devices(dc *datacenter, spec topology.VM, home string) ([]types.BaseVirtualDeviceConfigSpec, error) {
	var list object.VirtualDeviceList
	scsi, err := list.CreateSCSIController("pvscsi")
	if err != nil {
		return nil, err
	}
	list = append(list, scsi)
	disk := list.CreateDisk(scsi.(types.BaseVirtualController), vc.Ref{}, home+".vmdk")
	disk.CapacityInKB = systemDiskKB
	list = append(list, disk)
	for i, n := range spec.NICs {
		ref, ok := dc.networks[n.Network]
		if !ok {
			return nil, fmt.Errorf("network %q: no such network in the datacenter", n.Network)
		}
		nic := new(types.VirtualVmxnet3)
		nic.Key = int32(-200 - i)
		nic.AddressType = string(types.VirtualEthernetCardMacTypeManual)
		nic.MacAddress = strings.ToLower(n.MAC)
		nic.Backing = &types.VirtualEthernetCardNetworkBackingInfo{
			VirtualDeviceDeviceBackingInfo: types.VirtualDeviceDeviceBackingInfo{DeviceName: n.Network},
			Network:                        &ref,
		}
		nic.Connectable = &types.VirtualDeviceConnectInfo{StartConnected: true, AllowGuestControl: true}
		list = append(list, nic)
	}
	return list.ConfigSpec(types.VirtualDeviceConfigSpecOperationAdd)
}

// finish writes what vcsim's create does not take. Nobody watches yet, so these are plain writes.
func finish(vm *simulator.VirtualMachine, spec topology.VM, info guest.Info) {
	vm.Config.GuestFullName = info.FullName
	vm.Summary.Config.GuestFullName = info.FullName
	vm.Guest.GuestId = spec.GuestID
	if spec.Power == topology.PowerOff {
		return
	}
	now := time.Now()
	vm.Runtime.PowerState = types.VirtualMachinePowerStatePoweredOn
	vm.Runtime.BootTime = &now
	vm.Summary.Runtime.PowerState = vm.Runtime.PowerState
	vm.Summary.Runtime.BootTime = &now
	for _, d := range vm.Config.Hardware.Device {
		if c := d.GetVirtualDevice().Connectable; c != nil {
			c.Connected = c.StartConnected
		}
	}
}

// guestInfo is what the guest of the VM reports when it is up.
func guestInfo(spec topology.VM) (guest.Info, error) {
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

// prefix reads an address with or without prefix length.
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
