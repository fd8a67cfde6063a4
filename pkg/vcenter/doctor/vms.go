package doctor

import (
	"context"
	"fmt"
	"strconv"
	"strings"

	"github.com/vmware/govmomi/vim25/mo"
	"github.com/vmware/govmomi/vim25/types"

	"github.com/vsphere-sandbox/vsphere-sandbox/internal/shorten"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/vcenter"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/vcenter/inventory"
)

// oldest is the oldest hardware version that supports volumes of a CSI driver.
const oldest = 15

// vms checks each VM, except templates.
func (l *list) vms(ctx context.Context, c *vcenter.Connection, vms []inventory.VM) {
	set, err := enabled(ctx, c, vms)
	if err != nil {
		l.add(Warning, "disk-uuid", err.Error(), "whether guests see the UUIDs of disks is not known",
			"check that the account may read the VMs, and ask once more")
	} else {
		l.each("disk-uuid", Error, vms, func(vm inventory.VM) bool { return !vm.Template && !vm.DiskUUID && !set[vm.Ref] },
			"do not have disk.enableUUID", "a node does not find the disk of a volume, and mounts nothing",
			"power them off and set disk.enableUUID to TRUE (govc vm.change -e disk.enableUUID=TRUE -vm …)")
	}
	l.each("hardware-version", Error, vms, func(vm inventory.VM) bool {
		n, err := strconv.Atoi(strings.TrimPrefix(vm.HardwareVersion, "vmx-"))
		return !vm.Template && (err != nil || n < oldest)
	}, fmt.Sprintf("have a hardware version older than %d", oldest), "the CSI driver supports no volumes on them", "power them off and upgrade their compatibility")
	l.each("tools", Warning, vms, func(vm inventory.VM) bool {
		return !vm.Template && vm.Power == "poweredOn" && vm.Tools != "guestToolsRunning"
	}, "run without VMware Tools", "the cloud provider learns neither hostname nor addresses", "install open-vm-tools in the guest, and start it")
	l.each("uuid", Error, vms, func(vm inventory.VM) bool { return !vm.Template && vm.UUID == "" },
		"have no BIOS UUID that can be read", "no node can be bound to them", "repair their hosts, or register the VMs again")
	speaks := func(vm inventory.VM) bool {
		return !vm.Template && vm.Power == "poweredOn" && vm.Tools == "guestToolsRunning"
	}
	l.each("hostname", Warning, vms, func(vm inventory.VM) bool { return speaks(vm) && vm.Hostname == "" },
		"report no hostname", "a node is found by its system UUID alone", "give the guest a hostname, and restart its tools")
	l.each("addresses", Error, vms, func(vm inventory.VM) bool { return speaks(vm) && len(vm.Addresses) == 0 },
		"report no IP address", "the cloud provider gives the node none, and does not initialize it", "look after the guest's network, and restart its tools")
	l.each("connection", Error, vms, func(vm inventory.VM) bool { return vm.Connection != "connected" },
		"are not connected", "what they are and do is not known", "look after their hosts")
}

// each adds one finding for all VMs with a problem.
func (l *list) each(id string, level Level, vms []inventory.VM, wrong func(inventory.VM) bool, what, why, try string) {
	var found, paths []string
	for _, vm := range vms {
		if wrong(vm) {
			found, paths = append(found, vm.Name), append(paths, vm.Path)
		}
	}
	if len(found) == 0 {
		l.ok(id, "0 of %d VMs %s", len(vms), what)
		return
	}
	l.add(level, id, fmt.Sprintf("%d of %d VMs %s: %s", len(found), len(vms), what, shorten.List(found, shown)), why, try)
	l.concern(paths)
}

// enabled returns the VMs with disk.enableUUID in their advanced configuration, among those without the flag.
func enabled(ctx context.Context, c *vcenter.Connection, vms []inventory.VM) (map[types.ManagedObjectReference]bool, error) {
	filter := types.PropertyFilterSpec{PropSet: []types.PropertySpec{{Type: "VirtualMachine", PathSet: []string{"config.extraConfig"}}}}
	for _, vm := range vms {
		if !vm.DiskUUID && !vm.Template {
			filter.ObjectSet = append(filter.ObjectSet, types.ObjectSpec{Obj: vm.Ref})
		}
	}
	set := map[types.ManagedObjectReference]bool{}
	if len(filter.ObjectSet) == 0 {
		return set, nil
	}
	filter.ReportMissingObjectsInResults = new(true) // a VM may be removed concurrently
	content, err := inventory.Retrieve(ctx, c, filter)
	if err != nil {
		return nil, fmt.Errorf("read settings: %w", err)
	}
	var machines []mo.VirtualMachine
	if err := mo.LoadObjectContent(content, &machines); err != nil {
		return nil, fmt.Errorf("read settings: %w", err)
	}
	for _, m := range machines {
		if m.Config == nil {
			continue
		}
		for _, option := range m.Config.ExtraConfig {
			o := option.GetOptionValue()
			value, _ := o.Value.(string)
			if strings.EqualFold(o.Key, "disk.enableUUID") && (strings.EqualFold(value, "true") || value == "1") {
				set[m.Self] = true
			}
		}
	}
	return set, nil
}
