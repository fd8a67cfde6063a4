package vmx

import (
	"strings"
	"testing"

	"github.com/vmware/govmomi/vim25/types"
)

func TestWrite(t *testing.T) {
	got := string(Write(&types.VirtualMachineConfigInfo{
		Name: "a \"b\"\nc", Uuid: "42011234-5678-9abc-def0-123456789abc", Version: "vmx-21", GuestId: "otherLinux64Guest",
		Files:    types.VirtualMachineFileInfo{VmPathName: "[ds] a/a.vmx"},
		Firmware: "efi",
		Hardware: types.VirtualHardware{
			NumCPU: 4, MemoryMB: 2048, NumCoresPerSocket: new(int32(2)),
			Device: []types.BaseVirtualDevice{
				&types.VirtualIDEController{VirtualController: types.VirtualController{VirtualDevice: types.VirtualDevice{Key: 200}}},
				&types.ParaVirtualSCSIController{VirtualSCSIController: types.VirtualSCSIController{
					VirtualController: types.VirtualController{VirtualDevice: types.VirtualDevice{Key: 1000}, BusNumber: 1},
				}},
				&types.VirtualDisk{VirtualDevice: types.VirtualDevice{
					ControllerKey: 1000, UnitNumber: new(int32(0)),
					Backing: &types.VirtualDiskFlatVer2BackingInfo{VirtualDeviceFileBackingInfo: types.VirtualDeviceFileBackingInfo{FileName: "[ds] a/a.vmdk"}},
				}},
				&types.VirtualDisk{VirtualDevice: types.VirtualDevice{
					ControllerKey: 1000, UnitNumber: new(int32(1)),
					Backing: &types.VirtualDiskFlatVer2BackingInfo{VirtualDeviceFileBackingInfo: types.VirtualDeviceFileBackingInfo{FileName: "[other] fcd/1.vmdk"}},
				}},
				&types.VirtualCdrom{VirtualDevice: types.VirtualDevice{ControllerKey: 200, UnitNumber: new(int32(0))}},
				&types.VirtualVmxnet3{VirtualVmxnet: types.VirtualVmxnet{VirtualEthernetCard: types.VirtualEthernetCard{
					MacAddress: "00:50:56:80:00:01", AddressType: "assigned",
					VirtualDevice: types.VirtualDevice{Backing: &types.VirtualEthernetCardDistributedVirtualPortBackingInfo{
						Port: types.DistributedVirtualSwitchPortConnection{SwitchUuid: "sw", PortgroupKey: "dvportgroup-1"},
					}},
				}}},
			},
		},
		ExtraConfig: []types.BaseOptionValue{&types.OptionValue{Key: "guestinfo.metadata", Value: "a|b"}},
	}, func(ref types.ManagedObjectReference) string { return "name of " + ref.Value }))
	for _, want := range []string{
		`.encoding = "UTF-8"`, `config.version = "8"`, `virtualHW.version = "21"`, `displayName = "a |22b|22|0Ac"`,
		`guestOS = "otherlinux-64"`, `memSize = "2048"`, `numvcpus = "4"`, `cpuid.coresPerSocket = "2"`, `firmware = "efi"`,
		`uuid.bios = "42 01 12 34 56 78 9a bc-de f0 12 34 56 78 9a bc"`,
		`scsi1.present = "TRUE"`, `scsi1.virtualDev = "pvscsi"`, `scsi1:0.fileName = "a.vmdk"`, `scsi1:0.deviceType = "scsi-hardDisk"`,
		`scsi1:1.fileName = "/vmfs/volumes/other/fcd/1.vmdk"`, `ide0:0.deviceType = "atapi-cdrom"`,
		`ethernet0.virtualDev = "vmxnet3"`, `ethernet0.networkName = "name of dvportgroup-1"`, `ethernet0.dvs.switchId = "sw"`,
		`ethernet0.addressType = "vpx"`, `ethernet0.generatedAddress = "00:50:56:80:00:01"`, `guestinfo.metadata = "a|7Cb"`,
	} {
		if !strings.Contains("\n"+got, "\n"+want+"\n") {
			t.Errorf("no line %s in\n%s", want, got)
		}
	}
}
