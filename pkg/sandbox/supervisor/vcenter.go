package supervisor

import (
	"context"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"net/netip"
	"slices"
	"strings"
	"sync"

	"github.com/vmware/govmomi/fault"
	"github.com/vmware/govmomi/find"
	"github.com/vmware/govmomi/object"
	"github.com/vmware/govmomi/vim25/types"

	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/provider/vcenter"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/sandbox/vcenters"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/sandbox/world"
	sv "github.com/vsphere-sandbox/vsphere-sandbox/pkg/supervisor"
)

// center is the vCenter of the Supervisor: the only one of the topology. It implements [sv.VCenter].
type center struct{ p *Part }

func (c center) vcenter() *vcenters.VCenter {
	for _, vc := range c.p.VCenters() {
		return vc
	}
	return nil
}

// VM implements [sv.VCenter].
func (c center) VM(id string) (sv.VM, bool) {
	if vc := c.vcenter(); vc != nil {
		if v, ok := vc.Inventory.VM(types.ManagedObjectReference{Type: "VirtualMachine", Value: id}); ok && v.Exists {
			return vmOf(v), true
		}
	}
	return sv.VM{}, false
}

// ByName implements [sv.VCenter].
func (c center) ByName(name string) (all []sv.VM) {
	vc := c.vcenter()
	if vc == nil {
		return nil
	}
	c.p.names.fill(vc.Inventory)
	for _, id := range c.p.names.of(name) {
		if v, ok := c.VM(id); ok && v.Name == name {
			all = append(all, v)
		}
	}
	return all
}

// vmOf returns a VM as the Supervisor sees it.
func vmOf(v world.VM) sv.VM {
	vm := sv.VM{
		Name: v.Name, UniqueID: v.Ref.Value, BIOSUUID: v.UUID, InstanceUUID: v.InstanceUUID, Power: v.Power, Host: v.Host, HostName: v.Hostname, Tools: v.Tools, Zone: v.Zone, MAC: v.MAC,
	}
	for _, text := range v.Addresses {
		if a, err := netip.ParseAddr(text); err == nil {
			vm.Addresses = append(vm.Addresses, a.Unmap())
		}
	}
	return vm
}

// do calls the vCenter past its gate.
func (c center) do(ctx context.Context, f func(context.Context, *vcenter.Session) error) error {
	vc := c.vcenter()
	if vc == nil {
		return errors.New("the vCenter does not run")
	}
	return vc.Client.Do(ctx, f)
}

func wait(ctx context.Context, t *object.Task, err error) error {
	if err != nil {
		return err
	}
	// Wait returns nil when ctx ends before the task.
	return errors.Join(t.Wait(ctx), ctx.Err())
}

// SetPower implements [sv.VCenter].
func (c center) SetPower(ctx context.Context, vm sv.VM, power string) error {
	return c.do(ctx, func(ctx context.Context, s *vcenter.Session) error {
		o := object.NewVirtualMachine(s.Vim, types.ManagedObjectReference{Type: "VirtualMachine", Value: vm.UniqueID})
		call := map[string]func(context.Context) (*object.Task, error){"on": o.PowerOn, "off": o.PowerOff, "suspended": o.Suspend}[power]
		t, err := call(ctx)
		if err := wait(ctx, t, err); err != nil && !fault.Is(err, &types.InvalidPowerState{}) { // it may be so already
			return err
		}
		return nil
	})
}

// Destroy implements [sv.VCenter].
func (c center) Destroy(ctx context.Context, vm sv.VM) error {
	if vm.Power != "off" {
		if err := c.SetPower(ctx, vm, "off"); err != nil {
			return err
		}
	}
	return c.do(ctx, func(ctx context.Context, s *vcenter.Session) error {
		t, err := object.NewVirtualMachine(s.Vim, types.ManagedObjectReference{Type: "VirtualMachine", Value: vm.UniqueID}).Destroy(ctx)
		if err := wait(ctx, t, err); err != nil && !fault.Is(err, &types.ManagedObjectNotFound{}) {
			return err
		}
		return nil
	})
}

// Create implements [sv.VCenter]: it clones a template to the host of the zone with the fewest VMs.
func (c center) Create(ctx context.Context, spec sv.Spec) error {
	place, err := c.place(spec.Zone)
	if err != nil {
		return err
	}
	templates := c.ByName(spec.Image)
	if len(templates) == 0 {
		return fmt.Errorf("template %q does not exist in the vCenter", spec.Image)
	}
	return c.do(ctx, func(ctx context.Context, s *vcenter.Session) error {
		finder := find.NewFinder(s.Vim)
		dc, err := finder.Datacenter(ctx, place.datacenter)
		if err != nil {
			return err
		}
		finder.SetDatacenter(dc)
		h, err := finder.HostSystem(ctx, place.host)
		if err != nil {
			return err
		}
		pool, err := h.ResourcePool(ctx)
		if err != nil {
			return err
		}
		folders, err := dc.Folders(ctx)
		if err != nil {
			return err
		}
		on, in := h.Reference(), pool.Reference()
		template := object.NewVirtualMachine(s.Vim, types.ManagedObjectReference{Type: "VirtualMachine", Value: templates[0].UniqueID})
		t, err := template.Clone(ctx, folders.VmFolder, spec.Name, types.VirtualMachineCloneSpec{
			Location: types.VirtualMachineRelocateSpec{Host: &on, Pool: &in}, PowerOn: true,
			Config: &types.VirtualMachineConfigSpec{
				Uuid: spec.BIOSUUID, InstanceUuid: spec.InstanceUUID, NumCPUs: int32(spec.CPUs), MemoryMB: spec.MemoryMiB,
			},
		})
		if err := wait(ctx, t, err); err != nil && !fault.Is(err, &types.DuplicateName{}) {
			return err
		}
		return nil
	})
}

// hostPlace is a host with the datacenter that it is in.
type hostPlace struct{ datacenter, host string }

// place returns the host of a zone with the fewest VMs.
func (c center) place(zone string) (hostPlace, error) {
	count := map[string]int{}
	for _, h := range c.vcenter().Inventory.Hosts() {
		count[h.Name] = h.VMs
	}
	var best hostPlace
	for _, z := range c.p.Topology().HostZones() {
		if z.Name != zone {
			continue
		}
		for _, h := range z.Hosts {
			if best.host == "" || count[h] < count[best.host] {
				best = hostPlace{z.Datacenter, h}
			}
		}
	}
	if best.host == "" {
		return best, fmt.Errorf("zone %q has no host", zone)
	}
	return best, nil
}

// index has the references of VMs by their names. The zero value is empty.
type index struct {
	mu     sync.Mutex
	filled bool
	byName map[string][]string
}

// fill adds all VMs, the first time.
func (x *index) fill(i *world.Inventory) {
	x.mu.Lock()
	filled := x.filled
	x.filled = true
	x.mu.Unlock()
	if filled {
		return
	}
	for _, v := range i.VMs() {
		x.set(v)
	}
}

// reset forgets all VMs.
func (x *index) reset() {
	x.mu.Lock()
	defer x.mu.Unlock()
	x.filled, x.byName = false, nil
}

func (x *index) set(v world.VM) {
	x.mu.Lock()
	defer x.mu.Unlock()
	if x.byName == nil {
		x.byName = map[string][]string{}
	}
	if !slices.Contains(x.byName[v.Name], v.Ref.Value) {
		x.byName[v.Name] = append(x.byName[v.Name], v.Ref.Value)
	}
}

func (x *index) of(name string) []string {
	x.mu.Lock()
	defer x.mu.Unlock()
	return slices.Clone(x.byName[name])
}

// subject returns whose token that is: the ServiceAccount's name, or "" for one that is no JSON Web Token.
func subject(token string) string {
	parts := strings.Split(token, ".")
	if len(parts) != 3 {
		return ""
	}
	body, err := base64.RawURLEncoding.DecodeString(parts[1])
	if err != nil {
		return ""
	}
	var claims struct {
		Subject string `json:"sub"`
	}
	if json.Unmarshal(body, &claims) != nil {
		return ""
	}
	return claims.Subject
}
