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
)

// state is an inventory as it was read, and grows by what is made.
type state struct {
	root  ref
	all   map[ref]*entity
	byKey map[string]*entity
	vms   []*entity // in the order in which the vCenter told them
}

// entity is one managed entity.
type entity struct {
	ref   ref
	kind  Kind
	name  string
	key   string
	props map[string]types.AnyType
}

// get reads a property; the zero value when it is not set.
func get[T any](o *entity, name string) T {
	v, _ := o.props[name].(T)
	return v
}

// wanted are the properties that are read of each type.
func wanted() []types.PropertySpec {
	spec := func(kind string, names ...string) types.PropertySpec {
		return types.PropertySpec{Type: kind, PathSet: append([]string{"name", "parent"}, names...)}
	}
	return []types.PropertySpec{
		spec("Folder"),
		spec("Datacenter"),
		spec("ComputeResource", "host"),
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
	defer func() { _ = v.Destroy(context.WithoutCancel(ctx)) }() // ends with the session at the latest
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
			continue // removed while it was read
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

// path is the inventory path of an object now.
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

// made notes an object that has come into being.
func (s *state) made(kind Kind, key string, r ref) {
	o := &entity{ref: r, kind: kind, name: base(key), key: key, props: map[string]types.AnyType{}}
	s.all[r] = o
	s.byKey[key] = o
}

// find returns the reference of an object that must be there by now.
func (s *state) find(key string) (ref, error) {
	if o := s.byKey[key]; o != nil {
		return o.ref, nil
	}
	return ref{}, fmt.Errorf("there is no %s", strings.TrimPrefix(key, "/"))
}

// reload reads one property of an object anew.
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
