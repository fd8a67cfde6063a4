package guest

import (
	"bytes"
	"cmp"
	"compress/gzip"
	"encoding/base64"
	"io"
	"net/netip"
	"strings"

	"github.com/vmware/govmomi/simulator"
	"github.com/vmware/govmomi/vim25/methods"
	"github.com/vmware/govmomi/vim25/mo"
	"github.com/vmware/govmomi/vim25/soap"
	"github.com/vmware/govmomi/vim25/types"

	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/sim/internal/vc"
)

// image is the operating system on the disks of a VM that was cloned, or made from an OVF: it boots when the VM is powered on. Its
// name is what a customization or cloud-init's metadata (guestinfo.metadata) says, or else the VM's; NICs without an address get one
// by DHCP.
type image struct {
	fullName string
	// origin is the UUID of the VM that it comes from, in lower case: the first one of a chain of clones. Empty for an OVF.
	origin string
	// instant is set until the guest of an instant clone, which runs already, has been seen.
	instant bool
}

// bornOf gives a VM that has just got its devices the image of the VM that is being cloned, or of the OVF that is being imported. The
// call holds the lock of that VM.
func (g *Guests) bornOf(ctx *simulator.Context, m *vmState, vm *mo.VirtualMachine) {
	if !m.fresh || ctx.Caller == nil || *ctx.Caller == vm.Self {
		return
	}
	m.fresh = false
	switch ctx.Caller.Type {
	case "VirtualMachine":
		source := g.find(*ctx.Caller)
		obj, ok := ctx.Map.Get(*ctx.Caller).(*simulator.VirtualMachine)
		if source == nil || !ok || source.image == nil && !source.info.installed() {
			return
		}
		m.image = &image{fullName: source.info.FullName, origin: strings.ToLower(obj.Config.Uuid)}
		if source.image != nil {
			m.image.fullName = cmp.Or(source.image.fullName, m.image.fullName)
			m.image.origin = cmp.Or(source.image.origin, m.image.origin)
		}
		m.image.instant = source.instant
	case "ResourcePool", "VirtualApp":
		m.image = &image{}
	}
	if m.image != nil {
		g.mu.Lock()
		g.origins[vm.Self] = m.image.origin
		g.mu.Unlock()
	}
}

// Origin returns the UUID of the VM that a VM was cloned from, in lower case: the first one of a chain of clones. It is empty for
// others. It takes no lock of vcsim.
func (g *Guests) Origin(vm types.ManagedObjectReference) string {
	g.mu.Lock()
	defer g.mu.Unlock()
	return g.origins[vm]
}

// install makes the guest of an image from what its VM is configured for, at power-on. The caller holds the VM's lock.
func (g *Guests) install(ctx *simulator.Context, m *vmState, vm *mo.VirtualMachine) {
	if m.image == nil || g.stock() || vm.Config == nil {
		return
	}
	info := m.info
	if data := metadata(vm); data != nil {
		info.HostName = cmp.Or(data.HostName, info.HostName)
		if len(data.Addresses) > 0 {
			info.Addresses, info.Static = data.Addresses, true
		}
	}
	info.HostName = cmp.Or(info.HostName, dnsName(vm.Name))
	info.FullName = cmp.Or(info.FullName, m.image.fullName, vm.Config.GuestFullName)
	own := map[string][]netip.Prefix{}
	var without []*types.VirtualEthernetCard
	for _, d := range vm.Config.Hardware.Device {
		if card, ok := d.(types.BaseVirtualEthernetCard); ok {
			nic := card.GetVirtualEthernetCard()
			mac := strings.ToLower(nic.MacAddress)
			if list := info.Addresses[mac]; len(list) > 0 {
				own[mac] = list
			} else if !info.Static {
				without = append(without, nic)
			}
		}
	}
	info.Addresses = own
	g.know(m, info)
	for _, nic := range without {
		if p := g.lease(g.subnet(ctx, vm, nic.Backing)); p.IsValid() {
			own[strings.ToLower(nic.MacAddress)] = []netip.Prefix{p}
			g.know(m, info)
		}
	}
	ctx.Update(vm, down())
}

// InstantCloneTask clones a running VM: the clone runs at once, with its own address, and a name from its guestinfo or its VM.
func (g *Guests) InstantCloneTask(ctx *simulator.Context, req *types.InstantClone_Task) soap.HasFault {
	vm, ok := ctx.Map.Get(req.This).(*simulator.VirtualMachine)
	if !ok {
		return &methods.InstantClone_TaskBody{Fault_: simulator.Fault("", &types.ManagedObjectNotFound{Obj: req.This})}
	}
	task := simulator.CreateTask(vm, "instantClone", func(*simulator.Task) (types.AnyType, types.BaseMethodFault) {
		if vm.Runtime.PowerState != types.VirtualMachinePowerStatePoweredOn {
			return nil, &types.InvalidPowerState{RequestedState: types.VirtualMachinePowerStatePoweredOn, ExistingState: vm.Runtime.PowerState}
		}
		clone := &types.CloneVM_Task{This: req.This, Name: req.Spec.Name, Spec: types.VirtualMachineCloneSpec{
			Location: req.Spec.Location, PowerOn: true, Config: &types.VirtualMachineConfigSpec{ExtraConfig: req.Spec.Config, Uuid: req.Spec.BiosUuid},
		}}
		switch {
		case req.Spec.Location.Folder != nil:
			clone.Folder = *req.Spec.Location.Folder
		case vm.Parent != nil:
			clone.Folder = *vm.Parent
		}
		if m := g.find(req.This); m != nil {
			m.instant = true
			defer func() { m.instant = false }()
		}
		ctx.Caller = &req.This // not this receiver: the clone is one of the VM
		body, ok := vm.CloneVMTask(ctx, clone).(*methods.CloneVM_TaskBody)
		if !ok || body.Res == nil {
			return nil, new(types.InvalidRequest)
		}
		return vc.Await(ctx, body.Res.Returnval)
	})
	return &methods.InstantClone_TaskBody{Res: &types.InstantClone_TaskResponse{Returnval: task.Run(ctx)}}
}

// anySubnet is where NICs get their addresses from when their network has none: as in a topology, the range of benchmarks.
var anySubnet = netip.MustParsePrefix("198.18.0.0/15") //nolint:gochecknoglobals // a constant

// subnet returns the addresses of a NIC's network.
func (g *Guests) subnet(ctx *simulator.Context, vm *mo.VirtualMachine, backing types.BaseVirtualDeviceBackingInfo) netip.Prefix {
	name := network(ctx, backing)
	if dc, ok := vc.Datacenter(ctx.Map, vm.Self); ok && g.opts.Subnet != nil {
		if d, ok := ctx.Map.Get(dc).(*simulator.Datacenter); ok {
			if p := g.opts.Subnet(d.Name, name); p.IsValid() {
				return p.Masked()
			}
		}
	}
	return anySubnet
}

// lease returns a free address of a network, invalid if all are used.
func (g *Guests) lease(subnet netip.Prefix) netip.Prefix {
	g.mu.Lock()
	defer g.mu.Unlock()
	p := following(subnet, func(a netip.Addr) bool { _, owned := g.owners[a]; return !owned })
	if p == subnet {
		return netip.Prefix{}
	}
	return p
}

// metadata returns what cloud-init's data source for VMware reads about the name and the addresses of a guest, nil without it.
func metadata(vm *mo.VirtualMachine) *Info {
	options := map[string]string{}
	for _, o := range vm.Config.ExtraConfig {
		if text, ok := o.GetOptionValue().Value.(string); ok {
			options[o.GetOptionValue().Key] = text
		}
	}
	text := decoded(options["guestinfo.metadata"], options["guestinfo.metadata.encoding"])
	if text == "" {
		return nil
	}
	info, err := parseMetadata(text)
	if err != nil {
		return nil
	}
	return info
}

// maxMetadata limits unpacked metadata, in bytes.
const maxMetadata = 1 << 20

// decoded returns a value that may be packed; "" for one that cannot be read.
func decoded(text, encoding string) string {
	switch encoding {
	case "base64", "b64", "gzip+base64", "gz+b64":
		b, err := base64.StdEncoding.DecodeString(strings.TrimSpace(text))
		if err != nil {
			return ""
		}
		if encoding[0] == 'g' {
			z, err := gzip.NewReader(bytes.NewReader(b))
			if err != nil {
				return ""
			}
			if b, err = io.ReadAll(io.LimitReader(z, maxMetadata)); err != nil {
				return ""
			}
		}
		return string(b)
	}
	return text
}

// dnsName returns a VM's name as a hostname.
func dnsName(name string) string {
	host := strings.Map(func(r rune) rune {
		switch {
		case r >= 'a' && r <= 'z', r >= '0' && r <= '9', r == '-', r == '.':
			return r
		}
		return '-'
	}, strings.ToLower(name))
	return cmp.Or(strings.Trim(host, "-."), "localhost")
}
