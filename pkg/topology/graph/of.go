package graph

import (
	"fmt"
	"strings"

	"github.com/vsphere-sandbox/vsphere-sandbox/internal/shorten"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/topology"
)

// Of returns the graph of a resolved topology.
func Of(t *topology.Topology) *Node {
	m := maker{top: t}
	root := &Node{Kind: Topology, Name: t.Metadata.Name, Count: 1, Notes: []string{t.Count().String()}}
	for i := range t.Spec.VCenters {
		root.Children = append(root.Children, m.vcenter(&t.Spec.VCenters[i]))
	}
	return root
}

type maker struct{ top *topology.Topology }

// node returns the node of one object.
func (m maker) node(kind Kind, name string, place topology.Place, marks topology.Marks, notes ...string) *Node {
	n := &Node{Kind: kind, Name: name, Count: 1}
	for _, note := range notes {
		if note != "" {
			n.Notes = append(n.Notes, note)
		}
	}
	add := func(category, tag string) {
		if tag != "" {
			n.Tags = append(n.Tags, category+"="+tag)
		}
	}
	add(m.top.Spec.Categories.Region, place.Region)
	add(m.top.Spec.Categories.Zone, place.Zone)
	for _, tag := range marks.Tags {
		add(tag.Category, tag.Name)
	}
	return n
}

func (m maker) vcenter(vcenter *topology.VCenter) *Node {
	n := m.node(VCenter, vcenter.Name, topology.Place{}, vcenter.Marks, vcenter.Version)
	folders := newTree(n, Folder)
	for _, folder := range vcenter.Folders {
		m.folder(folders, folder)
	}
	for i := range vcenter.Datacenters {
		dc := &vcenter.Datacenters[i]
		in := folders.folder(dc.Folder)
		in.Children = append(in.Children, m.datacenter(dc))
	}
	return n
}

// folder adds a listed folder, with its tags.
func (m maker) folder(folders *tree, folder topology.Folder) {
	folders.folder(folder.Path).Tags = m.node(folders.kind, "", folder.Place, folder.Marks).Tags
}

func (m maker) datacenter(dc *topology.Datacenter) *Node {
	n := m.node(Datacenter, dc.Name, dc.Place, dc.Marks)
	c := newCompute(m, n, dc)
	for i := range dc.Datastores {
		ds := &dc.Datastores[i]
		store := m.node(Datastore, ds.Name, topology.Place{}, ds.Marks, string(ds.Type), ds.Capacity.String(), c.members("mounted by", ds.Hosts, ds.Clusters))
		store.Links = c.links("mounted by", ds.Hosts, ds.Clusters)
		n.Children = append(n.Children, store)
	}
	for i := range dc.Networks {
		n.Children = append(n.Children, m.network(Network, &dc.Networks[i]))
	}
	for i := range dc.Switches {
		dvs := &dc.Switches[i]
		s := m.node(Switch, dvs.Name, topology.Place{}, dvs.Marks, c.members("on", dvs.Hosts, dvs.Clusters))
		s.Links = c.links("on", dvs.Hosts, dvs.Clusters)
		for j := range dvs.PortGroups {
			vlan := ""
			if id := dvs.PortGroups[j].VLAN; id > 0 {
				vlan = fmt.Sprintf("VLAN %d", id)
			}
			s.Children = append(s.Children, m.network(PortGroup, &dvs.PortGroups[j].Network, vlan))
		}
		s.Children = summarized(s.Children, c.moved)
		n.Children = append(n.Children, s)
	}
	n.Children = summarized(n.Children, c.moved)
	folders := newTree(n, VMFolder)
	for _, folder := range dc.Folders {
		m.folder(folders, folder)
	}
	for i := range dc.VMs {
		in := folders.folder(dc.VMs[i].Folder)
		in.Children = append(in.Children, m.vm(&dc.VMs[i]))
	}
	folders.each(func(in *Node) {
		in.Children = summarized(in.Children, c.moved)
		for _, vm := range in.Children {
			c.place(vm)
		}
	})
	c.settle(n)
	return n
}

func (m maker) network(kind Kind, network *topology.Network, notes ...string) *Node {
	return m.node(kind, network.Name, topology.Place{}, network.Marks, append(notes, network.CIDR)...)
}

func (m maker) vm(vm *topology.VM) *Node {
	kind, off := VM, ""
	if vm.Template == topology.Yes {
		kind = Template
	} else if vm.Power == topology.PowerOff {
		off = "off"
	}
	pool := ""
	if vm.Pool != "" {
		pool = "in pool " + vm.Pool
	}
	n := m.node(kind, vm.Name, topology.Place{}, vm.Marks, string(vm.Role), sized(vm.CPUs, vm.Memory), off, snapshots(len(vm.Snapshots)), pool)
	n.on = []place{{vm.Cluster, vm.Host}}
	return n
}

func sized(cpus int32, memory topology.Bytes) string {
	return shorten.Count(int(cpus), "CPU") + " " + memory.String()
}

func snapshots(n int) string {
	if n == 0 {
		return ""
	}
	return shorten.Count(n, "snapshot")
}

// listed joins the first few names, and counts the rest.
func listed(names []string) string {
	if len(names) > most {
		return shorten.List(names, most-1)
	}
	return strings.Join(names, ", ")
}
