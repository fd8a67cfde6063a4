package apply

import (
	"strings"

	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/topology"
)

// named is an object of a topology, but for VMs, which need not have a path of their own.
type named struct {
	kind Kind
	// key finds it in an inventory: its path with "//name" for the path of its datacenter, which may be moved.
	key, path string
	place     topology.Place
	marks     topology.Marks

	// What it is, by kind; dc is its datacenter.
	dc        *topology.Datacenter
	cluster   *topology.Cluster // of a host, too; nil for a standalone one
	host      *topology.Host
	network   *topology.Network
	vswitch   *topology.Switch
	portGroup *topology.PortGroup
	datastore *topology.Datastore
}

// placedVM is a VM of a topology.
type placedVM struct {
	*topology.VM
	dc        *topology.Datacenter
	key, path string
}

// objects lists what a topology names in a vCenter, each after what holds it.
func objects(v *topology.VCenter) []*named {
	w := &walker{seen: map[string]*named{}}
	w.add(&named{kind: KindRoot, key: "", path: "/", marks: v.Marks})
	for i := range v.Folders {
		w.folder("", "", v.Folders[i].Path, nil, v.Folders[i].Place, v.Folders[i].Marks)
	}
	for i := range v.Datacenters {
		w.datacenter(&v.Datacenters[i])
	}
	return w.list
}

func vms(v *topology.VCenter) []*placedVM {
	var all []*placedVM
	for i := range v.Datacenters {
		dc := &v.Datacenters[i]
		for j := range dc.VMs {
			at := "/vm/" + join(dc.VMs[j].Folder, dc.VMs[j].Name)
			all = append(all, &placedVM{VM: &dc.VMs[j], dc: dc, key: dcKey(dc) + at, path: dc.InventoryPath() + at})
		}
	}
	return all
}

func dcKey(dc *topology.Datacenter) string { return "//" + dc.Name }

func join(folder, name string) string {
	if folder == "" {
		return name
	}
	return folder + "/" + name
}

type walker struct {
	list []*named
	seen map[string]*named
}

func (w *walker) add(n *named) {
	if old := w.seen[n.key]; old != nil {
		return
	}
	w.seen[n.key] = n
	w.list = append(w.list, n)
}

// folder lists a folder and those on the way to it.
func (w *walker) folder(key, path, below string, dc *topology.Datacenter, place topology.Place, marks topology.Marks) {
	if below == "" {
		return
	}
	for name := range strings.SplitSeq(below, "/") {
		key, path = key+"/"+name, path+"/"+name
		w.add(&named{kind: KindFolder, key: key, path: path, dc: dc})
	}
	last := w.seen[key]
	if place != (topology.Place{}) {
		last.place = place
	}
	if marks.Tags != nil || marks.Permissions != nil {
		last.marks = marks
	}
}

func (w *walker) datacenter(dc *topology.Datacenter) {
	w.folder("", "", dc.Folder, nil, topology.Place{}, topology.Marks{})
	key, path := dcKey(dc), dc.InventoryPath()
	at := func(n named, below string) string {
		n.dc, n.key, n.path = dc, key+below, path+below
		w.add(&n)
		return below
	}
	at(named{kind: KindDatacenter, place: dc.Place, marks: dc.Marks}, "")
	for i := range dc.Clusters {
		c := &dc.Clusters[i]
		below := at(named{kind: KindCluster, cluster: c, place: c.Place, marks: c.Marks}, "/host/"+c.Name)
		for j := range c.Hosts {
			h := &c.Hosts[j]
			at(named{kind: KindHost, cluster: c, host: h, place: h.Place, marks: h.Marks}, below+"/"+h.Name)
		}
		w.pools(at, below+"/Resources", c.Pools, c.VApps)
	}
	for i := range dc.Hosts {
		h := &dc.Hosts[i]
		below := "/host/" + h.Name
		at(named{kind: KindHost, host: h, place: h.Place, marks: h.Marks}, below+"/"+h.Name)
		w.pools(at, below+"/Resources", h.Pools, nil)
	}
	for i := range dc.Networks {
		n := &dc.Networks[i]
		at(named{kind: KindNetwork, network: n, marks: n.Marks}, "/network/"+n.Name)
	}
	for i := range dc.Switches {
		s := &dc.Switches[i]
		at(named{kind: KindSwitch, vswitch: s, marks: s.Marks}, "/network/"+s.Name)
		for j := range s.PortGroups {
			g := &s.PortGroups[j]
			at(named{kind: KindPortGroup, vswitch: s, portGroup: g, marks: g.Marks}, "/network/"+g.Name)
		}
	}
	for i := range dc.Datastores {
		d := &dc.Datastores[i]
		at(named{kind: KindDatastore, datastore: d, marks: d.Marks}, "/datastore/"+d.Name)
	}
	for i := range dc.Folders {
		f := &dc.Folders[i]
		w.folder(key+"/vm", path+"/vm", f.Path, dc, f.Place, f.Marks)
	}
	for i := range dc.VMs {
		w.folder(key+"/vm", path+"/vm", dc.VMs[i].Folder, dc, topology.Place{}, topology.Marks{})
	}
}

func (w *walker) pools(at func(named, string) string, below string, pools []topology.Pool, vapps []topology.VApp) {
	for i := range pools {
		p := &pools[i]
		w.pools(at, at(named{kind: KindPool, marks: p.Marks}, below+"/"+p.Name), p.Pools, p.VApps)
	}
	for i := range vapps {
		at(named{kind: KindVApp, marks: vapps[i].Marks}, below+"/"+vapps[i].Name)
	}
}

// parent is the key or path of what holds the object; for VM folders and the like, the datacenter's own folder.
func parent(key string) string { return key[:strings.LastIndexByte(key, '/')] }

func base(key string) string { return key[strings.LastIndexByte(key, '/')+1:] }
