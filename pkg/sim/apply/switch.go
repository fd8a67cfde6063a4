package apply

import (
	"context"
	"fmt"
	"slices"

	"github.com/vmware/govmomi/object"
	"github.com/vmware/govmomi/vim25"
	"github.com/vmware/govmomi/vim25/methods"
	"github.com/vmware/govmomi/vim25/types"
)

func (p *planner) createSwitch(ctx context.Context, c *vim25.Client, n *named) (ref, error) {
	in, err := p.find(dcKey(n.dc) + "/network")
	if err != nil {
		return ref{}, err
	}
	t, err := object.NewFolder(c, in).CreateDVS(ctx, types.DVSCreateSpec{ConfigSpec: &types.VMwareDVSConfigSpec{
		DVSConfigSpec: types.DVSConfigSpec{Name: n.vswitch.Name}, MaxMtu: 1500,
	}})
	if err != nil {
		return ref{}, err
	}
	info, err := t.WaitForResult(ctx, nil)
	if err != nil {
		return ref{}, err
	}
	dvs, _ := info.Result.(ref)
	var hosts []ref
	for _, key := range p.members(n) {
		host, err := p.find(key)
		if err != nil {
			return ref{}, err
		}
		hosts = append(hosts, host)
	}
	hosts = append(hosts, p.besides(n)...)
	return dvs, joinSwitch(ctx, c, dvs, types.ConfigSpecOperationAdd, hosts)
}

// besides returns the hosts in the clusters of a switch's members that will be removed: until then they are members, too, because
// vcsim connects a VM to a switch only if all hosts of the cluster are members.
func (p *planner) besides(n *named) []ref {
	clusters := map[string]bool{}
	for _, key := range p.members(n) {
		clusters[parent(key)] = true
	}
	var hosts []ref
	for key, o := range p.byKey {
		if o.kind == KindHost && clusters[parent(key)] && p.leaves[o.ref] {
			hosts = append(hosts, o.ref)
		}
	}
	return hosts
}

// joinSwitch adds hosts to a switch, or removes them.
func joinSwitch(ctx context.Context, c *vim25.Client, dvs ref, op types.ConfigSpecOperation, hosts []ref) error {
	spec := &types.DVSConfigSpec{}
	for _, h := range hosts {
		spec.Host = append(spec.Host, types.DistributedVirtualSwitchHostMemberConfigSpec{
			Operation: string(op), Host: h, Backing: new(types.DistributedVirtualSwitchHostMemberPnicBacking),
		})
	}
	if len(hosts) == 0 {
		return nil
	}
	version, err := reload[string](ctx, c, dvs, "config.configVersion")
	if err != nil {
		return err
	}
	spec.ConfigVersion = version
	t, err := object.NewDistributedVirtualSwitch(c, dvs).Reconfigure(ctx, spec)
	return wait(ctx, t, err)
}

func (p *planner) createPortGroup(ctx context.Context, c *vim25.Client, n *named) (ref, error) {
	dvs, err := p.find(dcKey(n.dc) + "/network/" + n.vswitch.Name)
	if err != nil {
		return ref{}, err
	}
	spec := types.DVPortgroupConfigSpec{
		Name: n.portGroup.Name, Type: string(types.DistributedVirtualPortgroupPortgroupTypeEarlyBinding),
		NumPorts: 8, AutoExpand: new(true), DefaultPortConfig: vlan(n.portGroup.VLAN),
	}
	t, err := object.NewDistributedVirtualSwitch(c, dvs).AddPortgroup(ctx, []types.DVPortgroupConfigSpec{spec})
	if err := wait(ctx, t, err); err != nil {
		return ref{}, err
	}
	return p.child(ctx, c, dcKey(n.dc)+"/network", n.portGroup.Name)
}

func vlan(id int32) *types.VMwareDVSPortSetting {
	return &types.VMwareDVSPortSetting{Vlan: &types.VmwareDistributedVirtualSwitchVlanIdSpec{VlanId: id}}
}

// switchDiffers compares the members of a switch.
func (p *planner) switchDiffers(n *named, live *entity) {
	now := get[types.ArrayOfManagedObjectReference](live, "summary.hostMember").ManagedObjectReference
	var add, keep []ref
	for _, key := range p.members(n) {
		if o := p.byKey[key]; o == nil {
			continue // equipped when created
		} else if keep = append(keep, o.ref); !slices.Contains(now, o.ref) {
			add = append(add, o.ref)
		}
	}
	if len(add) > 0 {
		p.step(Change, n.kind, n.path, "add "+p.names(add), func(ctx context.Context, c *vim25.Client) error {
			return joinSwitch(ctx, c, live.ref, types.ConfigSpecOperationAdd, add)
		})
	}
	if off := less(p.stay(now), keep); len(off) > 0 {
		p.late = append(p.late, func() {
			p.step(Change, n.kind, n.path, "take off "+p.names(off), func(ctx context.Context, c *vim25.Client) error {
				return joinSwitch(ctx, c, live.ref, types.ConfigSpecOperationRemove, off)
			})
		})
	}
}

// portGroupDiffers compares the VLAN of a port group with the previous topology: ports may have separate settings.
func (p *planner) portGroupDiffers(n *named, live *entity) {
	before := p.before[n.key]
	if before == nil || before.portGroup == nil || before.portGroup.VLAN == n.portGroup.VLAN {
		return
	}
	p.step(Change, n.kind, n.path, fmt.Sprintf("VLAN %d → %d", before.portGroup.VLAN, n.portGroup.VLAN), func(ctx context.Context, c *vim25.Client) error {
		config, err := reload[types.DVPortgroupConfigInfo](ctx, c, live.ref, "config")
		if err != nil {
			return err
		}
		spec := types.DVPortgroupConfigSpec{
			ConfigVersion: config.ConfigVersion, Name: config.Name, NumPorts: config.NumPorts, Type: config.Type,
			AutoExpand: config.AutoExpand, Description: config.Description, Policy: config.Policy,
			PortNameFormat: config.PortNameFormat, DefaultPortConfig: vlan(n.portGroup.VLAN),
		}
		started, err := methods.ReconfigureDVPortgroup_Task(ctx, c, &types.ReconfigureDVPortgroup_Task{This: live.ref, Spec: spec})
		_, err = task(ctx, c, started, func(r *types.ReconfigureDVPortgroup_TaskResponse) ref { return r.Returnval }, err)
		return err
	})
}
