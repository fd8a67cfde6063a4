package cns

import (
	"cmp"
	"fmt"
	"slices"

	"github.com/vmware/govmomi/vim25/types"
)

// Where disks find room on a VM: up to four SCSI controllers of sixteen units, one of which is the controller's own.
const (
	controllers   = 4
	units         = 16
	ownUnit       = 7
	pciKey        = 100
	controllerKey = 1000
	diskKey       = 2000
	scsiUnit      = 3 // of the first SCSI controller on the PCI bus
)

// slot is where a disk goes.
type slot struct {
	controller, unit int32
	bus              int32
	// added is the controller itself when it has to be added for that; nil when it is there.
	added *types.ParaVirtualSCSIController
}

// freeSlot finds the first slot that no device has, adding a controller when all are full and there may be another one;
// false when there is none. Only the controller and unit that are asked for will do, if any are.
func freeSlot(devices []types.BaseVirtualDevice, controller, unit *int32) (slot, bool) {
	scsi, taken := scsiControllers(devices), takenUnits(devices)
	buses := map[int32]bool{}
	for _, c := range scsi {
		buses[c.BusNumber] = true
		if controller != nil && *controller != c.Key {
			continue
		}
		for u := range int32(units) {
			if u == ownUnit || unit != nil && *unit != u || taken[unitOf{c.Key, u}] {
				continue
			}
			return slot{controller: c.Key, unit: u, bus: c.BusNumber}, true
		}
	}
	if controller != nil || len(scsi) >= controllers {
		return slot{}, false
	}
	s := slot{}
	if unit != nil {
		if *unit < 0 || *unit >= units || *unit == ownUnit {
			return slot{}, false
		}
		s.unit = *unit
	}
	for buses[s.bus] {
		s.bus++
	}
	s.added = newController(devices, taken, s.bus)
	s.controller = s.added.Key
	return s, true
}

// unitOf is a unit of a controller.
type unitOf struct{ controller, unit int32 }

func takenUnits(devices []types.BaseVirtualDevice) map[unitOf]bool {
	taken := make(map[unitOf]bool)
	for _, d := range devices {
		if v := d.GetVirtualDevice(); v.UnitNumber != nil {
			taken[unitOf{v.ControllerKey, *v.UnitNumber}] = true
		}
	}
	return taken
}

// scsiControllers are those of a VM, in the order of their buses.
func scsiControllers(devices []types.BaseVirtualDevice) (all []*types.VirtualSCSIController) {
	for _, d := range devices {
		if c, ok := d.(types.BaseVirtualSCSIController); ok {
			all = append(all, c.GetVirtualSCSIController())
		}
	}
	slices.SortFunc(all, func(a, b *types.VirtualSCSIController) int { return cmp.Compare(a.BusNumber, b.BusNumber) })
	return all
}

func newController(devices []types.BaseVirtualDevice, taken map[unitOf]bool, bus int32) *types.ParaVirtualSCSIController {
	c := new(types.ParaVirtualSCSIController)
	c.Key, c.BusNumber = freeKey(devices, controllerKey+bus), bus
	c.ControllerKey = pciKey
	unit := int32(scsiUnit) + bus
	for taken[unitOf{pciKey, unit}] {
		unit++
	}
	c.UnitNumber = &unit
	c.DeviceInfo = &types.Description{Label: fmt.Sprintf("SCSI controller %d", bus), Summary: "VMware paravirtual SCSI"}
	c.HotAddRemove = new(true)
	c.SharedBus = types.VirtualSCSISharingNoSharing
	c.ScsiCtlrUnitNumber = ownUnit
	return c
}

// freeKey is the first key from that on that no device has.
func freeKey(devices []types.BaseVirtualDevice, key int32) int32 {
	for slices.ContainsFunc(devices, func(d types.BaseVirtualDevice) bool { return d.GetVirtualDevice().Key == key }) {
		key++
	}
	return key
}
