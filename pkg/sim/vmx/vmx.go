package vmx

import (
	"bytes"
	"encoding/hex"
	"fmt"
	"path"
	"strings"

	"github.com/google/uuid"
	"github.com/vmware/govmomi/object"
	"github.com/vmware/govmomi/vim25/types"
)

// Write returns the configuration file of a VM. networks returns the name of the network or port group of a reference. The caller
// holds the VM's lock.
func Write(c *types.VirtualMachineConfigInfo, networks func(types.ManagedObjectReference) string) []byte {
	f := new(file)
	f.set(".encoding", "UTF-8")
	f.set("config.version", "8")
	f.set("virtualHW.version", strings.TrimPrefix(c.Version, "vmx-"))
	f.set("displayName", c.Name)
	if c.Annotation != "" {
		f.set("annotation", c.Annotation)
	}
	f.set("guestOS", guestOS(c.GuestId))
	f.set("memSize", fmt.Sprint(c.Hardware.MemoryMB))
	f.set("numvcpus", fmt.Sprint(c.Hardware.NumCPU))
	if n := c.Hardware.NumCoresPerSocket; n != nil && *n > 1 {
		f.set("cpuid.coresPerSocket", fmt.Sprint(*n))
	}
	f.uuid("uuid.bios", c.Uuid)
	f.uuid("vc.uuid", c.InstanceUuid)
	if c.Firmware != "" && c.Firmware != string(types.GuestOsDescriptorFirmwareTypeBios) {
		f.set("firmware", c.Firmware)
	}
	f.devices(c, networks)
	for _, o := range c.ExtraConfig {
		if v := o.GetOptionValue(); v != nil {
			f.set(v.Key, fmt.Sprint(v.Value))
		}
	}
	return f.Bytes()
}

// guestOS returns the name of a guest OS in a configuration file: without "Guest" at its end.
func guestOS(id string) string {
	id = strings.ToLower(id)
	if rest, ok := strings.CutSuffix(id, "64guest"); ok {
		return rest + "-64"
	}
	return strings.TrimSuffix(id, "guest")
}

// file is a configuration file: a line for each setting.
type file struct{ bytes.Buffer }

// set writes a setting, with quotes, line ends and | escaped as |hh.
func (f *file) set(key, value string) {
	value = strings.NewReplacer("|", "|7C", `"`, "|22", "\n", "|0A", "\r", "|0D").Replace(value)
	fmt.Fprintf(f, "%s = \"%s\"\n", key, value)
}

// uuid writes a UUID as sixteen bytes, with a hyphen in the middle.
func (f *file) uuid(key, value string) {
	id, err := uuid.Parse(value)
	if err != nil {
		return
	}
	all := make([]string, len(id))
	for i := range id {
		all[i] = hex.EncodeToString(id[i : i+1])
	}
	f.set(key, strings.Join(all[:8], " ")+"-"+strings.Join(all[8:], " "))
}

func (f *file) devices(c *types.VirtualMachineConfigInfo, networks func(types.ManagedObjectReference) string) {
	list := object.VirtualDeviceList(c.Hardware.Device)
	nic := 0
	for _, device := range list {
		switch d := device.(type) {
		case types.BaseVirtualSCSIController:
			bus := fmt.Sprintf("scsi%d", d.GetVirtualSCSIController().BusNumber)
			f.set(bus+".present", "TRUE")
			f.set(bus+".virtualDev", scsiModel(device))
		case types.BaseVirtualSATAController:
			f.set(fmt.Sprintf("sata%d.present", d.GetVirtualSATAController().BusNumber), "TRUE")
		case *types.VirtualNVMEController:
			f.set(fmt.Sprintf("nvme%d.present", d.BusNumber), "TRUE")
		case *types.VirtualDisk:
			f.disk(list, d, path.Dir(c.Files.VmPathName))
		case *types.VirtualCdrom:
			f.drive(list, d)
		case types.BaseVirtualEthernetCard:
			f.nic(fmt.Sprintf("ethernet%d", nic), device, networks)
			nic++
		}
	}
}

// slot returns the place of a device on its controller: "scsi0:1".
func slot(list object.VirtualDeviceList, d *types.VirtualDevice) (string, bool) {
	if d.UnitNumber == nil {
		return "", false
	}
	var bus string
	switch c := list.FindByKey(d.ControllerKey).(type) {
	case types.BaseVirtualSCSIController:
		bus = fmt.Sprintf("scsi%d", c.GetVirtualSCSIController().BusNumber)
	case types.BaseVirtualSATAController:
		bus = fmt.Sprintf("sata%d", c.GetVirtualSATAController().BusNumber)
	case *types.VirtualIDEController:
		bus = fmt.Sprintf("ide%d", c.BusNumber)
	case *types.VirtualNVMEController:
		bus = fmt.Sprintf("nvme%d", c.BusNumber)
	default:
		return "", false
	}
	return fmt.Sprintf("%s:%d", bus, *d.UnitNumber), true
}

// disk writes a hard disk. Disks beside the configuration file have no path.
func (f *file) disk(list object.VirtualDeviceList, d *types.VirtualDisk, dir string) {
	at, ok := slot(list, &d.VirtualDevice)
	backing, file := d.Backing.(types.BaseVirtualDeviceFileBackingInfo)
	if !ok || !file {
		return
	}
	name := backing.GetVirtualDeviceFileBackingInfo().FileName
	if path.Dir(name) == dir {
		name = path.Base(name)
	} else {
		var p object.DatastorePath
		if p.FromString(name) {
			name = path.Join("/vmfs/volumes", p.Datastore, p.Path)
		}
	}
	f.set(at+".present", "TRUE")
	f.set(at+".fileName", name)
	if strings.HasPrefix(at, "scsi") {
		f.set(at+".deviceType", "scsi-hardDisk")
	} else {
		f.set(at+".deviceType", "disk")
	}
}

// drive writes a CD-ROM drive: with an image, or a device of the client.
func (f *file) drive(list object.VirtualDeviceList, d *types.VirtualCdrom) {
	at, ok := slot(list, &d.VirtualDevice)
	if !ok {
		return
	}
	f.set(at+".present", "TRUE")
	connected := d.Connectable != nil && d.Connectable.StartConnected
	f.set(at+".startConnected", strings.ToUpper(fmt.Sprint(connected)))
	if iso, ok := d.Backing.(*types.VirtualCdromIsoBackingInfo); ok && iso.FileName != "" {
		var p object.DatastorePath
		p.FromString(iso.FileName)
		f.set(at+".deviceType", "cdrom-image")
		f.set(at+".fileName", path.Join("/vmfs/volumes", p.Datastore, p.Path))
		return
	}
	f.set(at+".deviceType", "atapi-cdrom")
	f.set(at+".clientDevice", "TRUE")
	f.set(at+".fileName", "")
}

func (f *file) nic(key string, device types.BaseVirtualDevice, networks func(types.ManagedObjectReference) string) {
	card := device.(types.BaseVirtualEthernetCard).GetVirtualEthernetCard()
	f.set(key+".present", "TRUE")
	f.set(key+".virtualDev", nicModel(device))
	f.set(key+".connectionType", "bridged")
	switch b := card.Backing.(type) {
	case *types.VirtualEthernetCardNetworkBackingInfo:
		f.set(key+".networkName", b.DeviceName)
	case *types.VirtualEthernetCardDistributedVirtualPortBackingInfo:
		f.set(key+".networkName", networks(types.ManagedObjectReference{Type: "DistributedVirtualPortgroup", Value: b.Port.PortgroupKey}))
		f.set(key+".dvs.switchId", b.Port.SwitchUuid)
		f.set(key+".dvs.portgroupId", b.Port.PortgroupKey)
	case *types.VirtualEthernetCardOpaqueNetworkBackingInfo:
		f.set(key+".networkName", b.OpaqueNetworkId)
	}
	switch types.VirtualEthernetCardMacType(strings.ToLower(card.AddressType)) {
	case types.VirtualEthernetCardMacTypeManual:
		f.set(key+".addressType", "static")
		f.set(key+".address", card.MacAddress)
	default:
		f.set(key+".addressType", "vpx")
		f.set(key+".generatedAddress", card.MacAddress)
	}
}

func scsiModel(d types.BaseVirtualDevice) string {
	switch d.(type) {
	case *types.ParaVirtualSCSIController:
		return "pvscsi"
	case *types.VirtualLsiLogicSASController:
		return "lsisas1068"
	case *types.VirtualBusLogicController:
		return "buslogic"
	}
	return "lsilogic"
}

func nicModel(d types.BaseVirtualDevice) string {
	switch d.(type) {
	case *types.VirtualE1000:
		return "e1000"
	case *types.VirtualE1000e:
		return "e1000e"
	case *types.VirtualPCNet32:
		return "vlance"
	case *types.VirtualVmxnet2:
		return "vmxnet"
	}
	return "vmxnet3"
}
