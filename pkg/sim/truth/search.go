package truth

import (
	"cmp"
	"slices"
	"strings"

	"github.com/vmware/govmomi/simulator"
	"github.com/vmware/govmomi/vim25/methods"
	"github.com/vmware/govmomi/vim25/mo"
	"github.com/vmware/govmomi/vim25/soap"
	"github.com/vmware/govmomi/vim25/types"

	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/sim/internal/vc"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/topology/stock"
)

// FindByUuid returns one VM or host; if several have the UUID, always the same one.
func (c *Corrections) FindByUuid(ctx *simulator.Context, req *types.FindByUuid) soap.HasFault {
	all := c.byUUID(ctx, req.Datacenter, req.Uuid, req.VmSearch, req.InstanceUuid)
	return &methods.FindByUuidBody{Res: &types.FindByUuidResponse{Returnval: first(all)}}
}

// FindAllByUuid finds all VMs or hosts.
func (c *Corrections) FindAllByUuid(ctx *simulator.Context, req *types.FindAllByUuid) soap.HasFault {
	all := c.byUUID(ctx, req.Datacenter, req.Uuid, req.VmSearch, req.InstanceUuid)
	return &methods.FindAllByUuidBody{Res: &types.FindAllByUuidResponse{Returnval: all}}
}

// FindByDnsName finds one VM by the hostname that its guest reports, or one host by its DNS name.
func (c *Corrections) FindByDnsName(ctx *simulator.Context, req *types.FindByDnsName) soap.HasFault {
	all := c.byDNSName(ctx, req.Datacenter, req.DnsName, req.VmSearch)
	return &methods.FindByDnsNameBody{Res: &types.FindByDnsNameResponse{Returnval: first(all)}}
}

// FindAllByDnsName finds all of them.
func (c *Corrections) FindAllByDnsName(ctx *simulator.Context, req *types.FindAllByDnsName) soap.HasFault {
	all := c.byDNSName(ctx, req.Datacenter, req.DnsName, req.VmSearch)
	return &methods.FindAllByDnsNameBody{Res: &types.FindAllByDnsNameResponse{Returnval: all}}
}

// FindByIp finds one VM by any address of its guest, or one host by the address of a kernel interface.
func (c *Corrections) FindByIp(ctx *simulator.Context, req *types.FindByIp) soap.HasFault {
	all := c.byIP(ctx, req.Datacenter, req.Ip, req.VmSearch)
	return &methods.FindByIpBody{Res: &types.FindByIpResponse{Returnval: first(all)}}
}

// FindAllByIp finds all of them.
func (c *Corrections) FindAllByIp(ctx *simulator.Context, req *types.FindAllByIp) soap.HasFault {
	all := c.byIP(ctx, req.Datacenter, req.Ip, req.VmSearch)
	return &methods.FindAllByIpBody{Res: &types.FindAllByIpResponse{Returnval: all}}
}

// FindChild returns a child of an entity by name. vcsim reads lists and names without locks, and panics on a VM that is being
// created.
func (c *Corrections) FindChild(ctx *simulator.Context, req *types.FindChild) soap.HasFault {
	obj := ctx.Map.Get(req.Entity)
	if obj == nil {
		return &methods.FindChildBody{Fault_: simulator.Fault("", &types.ManagedObjectNotFound{Obj: req.Entity})}
	}
	var below []vc.Ref
	ctx.WithLock(obj, func() { below = inside(obj) })
	body := &methods.FindChildBody{Res: new(types.FindChildResponse)}
	below = slices.DeleteFunc(below, func(ref vc.Ref) bool { return !c.named(ctx, ref, req.Name) })
	if visible := c.opts.Visible; visible != nil {
		below = slices.DeleteFunc(below, func(ref vc.Ref) bool { return !visible(ctx, ref) })
	}
	body.Res.Returnval = first(below)
	return body
}

// named reports whether an entity has a name.
func (c *Corrections) named(ctx *simulator.Context, ref vc.Ref, name string) bool {
	if is := c.Name(ref); is != "" || ref.Type == "VirtualMachine" { // a new VM has no name yet
		return is == name
	}
	return ctx.Map.FindByName(name, []vc.Ref{ref}) != nil // a network, whose name does not change
}

// inside copies the list of children of an entity whose lock is held.
func inside(obj mo.Reference) []vc.Ref {
	switch o := obj.(type) {
	case *simulator.Datacenter:
		return []vc.Ref{o.VmFolder, o.HostFolder, o.DatastoreFolder, o.NetworkFolder}
	case *simulator.Folder:
		return slices.Clone(o.ChildEntity)
	case *simulator.ResourcePool:
		return slices.Concat(o.ResourcePool.ResourcePool, o.Vm)
	case *simulator.VirtualApp:
		return slices.Concat(o.ResourcePool.ResourcePool, o.Vm)
	}
	if compute, ok := vc.Compute(obj); ok {
		below := slices.Clone(compute.Host)
		if compute.ResourcePool != nil {
			below = append(below, *compute.ResourcePool)
		}
		return below
	}
	return nil
}

func (c *Corrections) byUUID(ctx *simulator.Context, dc *vc.Ref, uuid string, vm bool, instance *bool) []vc.Ref {
	if !vm {
		return c.hosts(ctx, dc, func(h *simulator.HostSystem) bool {
			return h.Summary.Hardware != nil && equal(h.Summary.Hardware.Uuid, uuid)
		})
	}
	kind := byUUID
	if instance != nil && *instance {
		kind = byInstanceUUID
	}
	return c.seen(ctx, c.index.find(c.index.key(kind, uuid), dc))
}

func (c *Corrections) byDNSName(ctx *simulator.Context, dc *vc.Ref, name string, vm bool) []vc.Ref {
	if !vm {
		return c.hosts(ctx, dc, func(h *simulator.HostSystem) bool { return equal(h.Name, name) })
	}
	return c.seen(ctx, c.index.find(c.index.key(byDNSName, name), dc))
}

func (c *Corrections) byIP(ctx *simulator.Context, dc *vc.Ref, ip string, vm bool) []vc.Ref {
	if !vm {
		return c.hosts(ctx, dc, func(h *simulator.HostSystem) bool {
			return h.Config != nil && h.Config.Network != nil &&
				slices.ContainsFunc(h.Config.Network.Vnic, func(n types.HostVirtualNic) bool {
					return n.Spec.Ip != nil && equal(n.Spec.Ip.IpAddress, ip)
				})
		})
	}
	return c.seen(ctx, c.index.find(c.index.key(byIP, ip), dc))
}

// hosts iterates over all hosts: they are few, and rarely searched for.
func (c *Corrections) hosts(ctx *simulator.Context, dc *vc.Ref, match func(*simulator.HostSystem) bool) []vc.Ref {
	var found []vc.Ref
	for _, e := range ctx.Map.All("HostSystem") {
		h := e.(*simulator.HostSystem)
		if in, ok := vc.Datacenter(ctx.Map, h.Self); dc != nil && !c.opts.Stock.Has(stock.SearchScope) && (!ok || in != *dc) {
			continue
		}
		ctx.WithLock(h, func() {
			if match(h) {
				found = append(found, h.Self)
			}
		})
	}
	return c.seen(ctx, found)
}

// seen removes what the session may not see: a search in a datacenter that the user may not read finds nothing, without an error.
func (c *Corrections) seen(ctx *simulator.Context, found []vc.Ref) []vc.Ref {
	if visible := c.opts.Visible; visible != nil {
		found = slices.DeleteFunc(found, func(ref vc.Ref) bool { return !visible(ctx, ref) })
	}
	return sorted(found)
}

func equal(a, b string) bool { return b != "" && strings.EqualFold(a, strings.TrimSpace(b)) }

func sorted(refs []vc.Ref) []vc.Ref {
	slices.SortFunc(refs, func(a, b vc.Ref) int {
		// vm-9 before vm-10.
		return cmp.Or(cmp.Compare(len(a.Value), len(b.Value)), cmp.Compare(a.Value, b.Value))
	})
	return refs
}

func first(refs []vc.Ref) *vc.Ref {
	if len(refs) == 0 {
		return nil
	}
	return &refs[0]
}
