package apply

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/vmware/govmomi/fault"
	"github.com/vmware/govmomi/object"
	"github.com/vmware/govmomi/vim25"
	"github.com/vmware/govmomi/vim25/methods"
	"github.com/vmware/govmomi/vim25/types"

	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/topology"
)

// members returns the keys of the hosts of a switch or datastore.
func (p *planner) members(n *named) []string {
	var keys []string
	for cluster, host := range n.dc.AllHosts() {
		if isMember(n, cluster, host) {
			keys = append(keys, hostKey(n.dc, cluster, host))
		}
	}
	return keys
}

func isMember(n *named, cluster *topology.Cluster, host *topology.Host) bool {
	name := ""
	if cluster != nil {
		name = cluster.Name
	}
	switch {
	case n.datastore != nil:
		return n.datastore.MountedBy(name, host.Name)
	case n.vswitch != nil:
		return n.vswitch.Has(name, host.Name)
	}
	return true
}

func hostKey(dc *topology.Datacenter, cluster *topology.Cluster, host *topology.Host) string {
	in := host.Name
	if cluster != nil {
		in = cluster.Name
	}
	return dcKey(dc) + "/host/" + in + "/" + host.Name
}

func vlanText(vlan int32) string {
	if vlan == 0 {
		return ""
	}
	return fmt.Sprintf("VLAN %d", vlan)
}

// equipHost gives a new host the existing networks and datastores of its datacenter; later steps add the others.
func (p *planner) equipHost(ctx context.Context, c *vim25.Client, n *named, host ref) error {
	for _, o := range objects(p.want) {
		if o.dc != n.dc || p.byKey[o.key] == nil || !isMember(o, n.cluster, n.host) {
			continue
		}
		there := p.byKey[o.key].ref
		var err error
		switch o.kind {
		case KindNetwork:
			err = p.addPortGroup(ctx, c, host, o.network.Name)
		case KindSwitch:
			err = joinSwitch(ctx, c, there, types.ConfigSpecOperationAdd, []ref{host})
		case KindDatastore:
			err = p.mount(ctx, c, o, host)
		}
		if err != nil {
			return fmt.Errorf("%s: %w", o.path, err)
		}
	}
	return nil
}

// createNetwork adds a port group to the standard switch of every host; they share the network.
func (p *planner) createNetwork(ctx context.Context, c *vim25.Client, n *named) (ref, error) {
	for _, key := range p.members(n) {
		host, err := p.find(key)
		if err != nil {
			return ref{}, err
		}
		if err := p.addPortGroup(ctx, c, host, n.network.Name); err != nil {
			return ref{}, fmt.Errorf("host %s: %w", base(key), err)
		}
	}
	return p.child(ctx, c, dcKey(n.dc)+"/network", n.network.Name)
}

// child returns an object in a folder by its name.
func (p *planner) child(ctx context.Context, c *vim25.Client, folder, name string) (ref, error) {
	in, err := p.find(folder)
	if err != nil {
		return ref{}, err
	}
	found, err := object.NewSearchIndex(c).FindChild(ctx, in, name)
	if err != nil {
		return ref{}, err
	}
	if found == nil {
		return ref{}, fmt.Errorf("there is no %s in %s", name, folder)
	}
	return found.Reference(), nil
}

func (p *planner) addPortGroup(ctx context.Context, c *vim25.Client, host ref, name string) error {
	system, err := reload[ref](ctx, c, host, "configManager.networkSystem")
	if err != nil {
		return err
	}
	err = object.NewHostNetworkSystem(c, system).AddPortGroup(ctx, types.HostPortGroupSpec{Name: name, VswitchName: "vSwitch0"})
	if fault.Is(err, new(types.AlreadyExists)) {
		return nil
	}
	return err
}

// stay returns the hosts that the topology names: others are unmanaged, or will be removed.
func (p *planner) stay(hosts []ref) []ref {
	return slices.DeleteFunc(slices.Clone(hosts), func(r ref) bool { return !p.claimed[r] })
}

func (p *planner) names(refs []ref) string {
	var text strings.Builder
	for i, r := range refs {
		if i > 0 {
			text.WriteString(", ")
		}
		if o := p.all[r]; o != nil {
			text.WriteString(o.name)
		} else {
			text.WriteString(r.Value)
		}
	}
	return text.String()
}

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
