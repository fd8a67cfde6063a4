package apply

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/vmware/govmomi/fault"
	"github.com/vmware/govmomi/object"
	"github.com/vmware/govmomi/vim25"
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
