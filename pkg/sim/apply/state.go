package apply

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/vmware/govmomi/property"
	"github.com/vmware/govmomi/view"
	"github.com/vmware/govmomi/vim25"
	"github.com/vmware/govmomi/vim25/types"

	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/topology"
)

// state is an inventory as read, plus created objects.
type state struct {
	root  ref
	all   map[ref]*entity
	byKey map[string]*entity
	vms   []*entity // in the order of the vCenter
}

// entity is one managed entity.
type entity struct {
	ref   ref
	kind  Kind
	name  string
	key   string
	props map[string]types.AnyType
}

// get returns a property, or its zero value.
func get[T any](o *entity, name string) T {
	v, _ := o.props[name].(T)
	return v
}

// wanted lists the properties to read of each type.
func wanted() []types.PropertySpec {
	spec := func(kind string, names ...string) types.PropertySpec {
		return types.PropertySpec{Type: kind, PathSet: append([]string{"name", "parent"}, names...)}
	}
	return []types.PropertySpec{
		spec("Folder"),
		spec("Datacenter"),
		spec("ComputeResource", "host", "configurationEx"),
		spec("HostSystem", "hardware.cpuInfo.numCpuCores", "hardware.memorySize", "runtime.connectionState", "runtime.inMaintenanceMode",
			"vm", "configManager.networkSystem", "configManager.datastoreSystem", "network", "datastore"),
		spec("ResourcePool", "owner"),
		spec("Network"),
		spec("DistributedVirtualSwitch", "uuid", "summary.hostMember", "portgroup"),
		spec("Datastore", "summary.type", "summary.capacity", "host", "vm"),
		spec("VirtualMachine", "config.uuid", "config.instanceUuid", "config.template", "config.guestId", "config.version",
			"config.hardware.numCPU", "config.hardware.memoryMB", "config.hardware.device", "config.extraConfig",
			"runtime.powerState", "runtime.host", "resourcePool", "datastore", "snapshot", "guest.hostName", "guest.net"),
	}
}

// read reads the whole inventory.
func read(ctx context.Context, c *vim25.Client) (*state, error) {
	m := view.NewManager(c)
	v, err := m.CreateContainerView(ctx, c.ServiceContent.RootFolder, []string{"ManagedEntity"}, true)
	if err != nil {
		return nil, err
	}
	defer func() { _ = v.Destroy(context.WithoutCancel(ctx)) }() // it ends with the session
	through := &types.TraversalSpec{Type: "ContainerView", Path: "view"}
	res, err := property.DefaultCollector(c).RetrieveProperties(ctx, types.RetrieveProperties{
		SpecSet: []types.PropertyFilterSpec{{
			ObjectSet: []types.ObjectSpec{{Obj: v.Reference(), Skip: new(true), SelectSet: []types.BaseSelectionSpec{through}}},
			PropSet:   wanted(),
		}},
	})
	if err != nil {
		return nil, err
	}
	s := &state{root: c.ServiceContent.RootFolder, all: map[ref]*entity{}, byKey: map[string]*entity{}}
	s.all[s.root] = &entity{ref: s.root, kind: KindRoot}
	s.byKey[""] = s.all[s.root]
	var order []*entity
	for _, content := range res.Returnval {
		o := &entity{ref: content.Obj, kind: kindOf(content.Obj), props: make(map[string]types.AnyType, len(content.PropSet))}
		for _, p := range content.PropSet {
			o.props[p.Name] = p.Val
		}
		o.name = get[string](o, "name")
		s.all[o.ref] = o
		order = append(order, o)
	}
	for _, o := range order {
		if o.key, err = s.keyOf(o); err != nil {
			continue // removed during the read
		}
		if o.ref.Type == "VirtualMachine" {
			s.vms = append(s.vms, o)
			continue
		}
		s.byKey[o.key] = o
	}
	return s, nil
}

var errNoParent = errors.New("no parent")

func (s *state) keyOf(o *entity) (string, error) {
	if o.ref == s.root {
		return "", nil
	}
	if o.kind == KindDatacenter {
		return "//" + o.name, nil
	}
	up := s.all[get[ref](o, "parent")]
	if up == nil {
		return "", fmt.Errorf("%s: %w", o.ref, errNoParent)
	}
	key, err := s.keyOf(up)
	return key + "/" + o.name, err
}

// path returns the current inventory path of an object.
func (s *state) path(o *entity) string {
	if o.ref == s.root {
		return "/"
	}
	var names []string
	for ; o != nil && o.ref != s.root; o = s.all[get[ref](o, "parent")] {
		names = append([]string{o.name}, names...)
	}
	return "/" + strings.Join(names, "/")
}

func kindOf(r ref) Kind {
	switch r.Type {
	case "Folder":
		return KindFolder
	case "Datacenter":
		return KindDatacenter
	case "ClusterComputeResource":
		return KindCluster
	case "HostSystem":
		return KindHost
	case "ResourcePool":
		return KindPool
	case "VirtualApp":
		return KindVApp
	case "VirtualMachine":
		return KindVM
	case "Datastore":
		return KindDatastore
	case "DistributedVirtualPortgroup":
		return KindPortGroup
	case "DistributedVirtualSwitch", "VmwareDistributedVirtualSwitch":
		return KindSwitch
	case "Network":
		return KindNetwork
	}
	return Kind(r.Type)
}

// made records a created object.
func (s *state) made(kind Kind, key string, r ref) {
	o := &entity{ref: r, kind: kind, name: base(key), key: key, props: map[string]types.AnyType{}}
	s.all[r] = o
	s.byKey[key] = o
}

// find returns the reference of an object that must exist by now.
func (s *state) find(key string) (ref, error) {
	if o := s.byKey[key]; o != nil {
		return o.ref, nil
	}
	return ref{}, fmt.Errorf("there is no %s", strings.TrimPrefix(key, "/"))
}

// reload reads one property of an object again.
func reload[T any](ctx context.Context, c *vim25.Client, r ref, name string) (T, error) {
	var none T
	res, err := property.DefaultCollector(c).RetrieveProperties(ctx, types.RetrieveProperties{
		SpecSet: []types.PropertyFilterSpec{{
			ObjectSet: []types.ObjectSpec{{Obj: r}},
			PropSet:   []types.PropertySpec{{Type: r.Type, PathSet: []string{name}}},
		}},
	})
	if err != nil {
		return none, err
	}
	for _, content := range res.Returnval {
		for _, p := range content.PropSet {
			if v, ok := p.Val.(T); ok {
				return v, nil
			}
		}
	}
	return none, nil
}

// named is an object of a topology other than a VM, whose path may not be unique.
type named struct {
	kind Kind
	// key identifies it in an inventory: its path with "//name" for the path of its datacenter, which may move.
	key, path string
	place     topology.Place
	marks     topology.Marks

	// By kind; dc is its datacenter.
	dc        *topology.Datacenter
	cluster   *topology.Cluster // also of a host; nil for a standalone one
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

// objects lists the objects of a topology in a vCenter, containers first.
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

// folder adds a folder and its parents.
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

// parent returns the key or path of the container; for VM folders and similar, the datacenter's folder.
func parent(key string) string { return key[:strings.LastIndexByte(key, '/')] }

func base(key string) string { return key[strings.LastIndexByte(key, '/')+1:] }
