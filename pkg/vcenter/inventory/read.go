package inventory

import (
	"cmp"
	"context"
	"fmt"
	"slices"

	"github.com/vmware/govmomi/view"
	"github.com/vmware/govmomi/vim25"
	"github.com/vmware/govmomi/vim25/methods"
	"github.com/vmware/govmomi/vim25/mo"
	"github.com/vmware/govmomi/vim25/types"

	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/vcenter"
)

// Categories are the tag categories of regions and zones.
type Categories struct{ Region, Zone string }

// Inventory is one reading of a vCenter.
type Inventory struct {
	// VMs are those of the selection, by path.
	VMs []VM
	// Tree is everything that the account may see.
	Tree Tree
	// Absent are the paths of the selection that are not there; no VM is chosen by them. See [Nowhere].
	Absent []Absent
	// Warnings are about what could not be read or chose nothing, one line each.
	Warnings []string
}

// Read reads the VMs of a selection; the vCenter's own list of datacenters narrows it further. A path in the selection that
// is not there may be in another vCenter: once all are read, [Nowhere] tells. A name pattern that no VM has is a warning. So
// is a vCenter that tells no tags, unless the selection needs them.
func Read(ctx context.Context, c *vcenter.Connection, s Selection, categories Categories) (*Inventory, error) {
	if err := s.Check(); err != nil {
		return nil, err
	}
	content, err := retrieve(ctx, c, []string{"ManagedEntity"}, []types.PropertySpec{
		{Type: "ManagedEntity", PathSet: []string{"name", "parent"}},
		{Type: "VirtualMachine", PathSet: vmProperties()},
	})
	if err != nil {
		return nil, err
	}
	inv := &Inventory{Tree: Tree{}}
	err = c.Do(ctx, func(_ context.Context, vim *vim25.Client) error {
		root := vim.ServiceContent.RootFolder // around everything, and in no view
		inv.Tree[root] = &Object{Ref: root, Name: "Datacenters"}
		return nil
	})
	if err != nil {
		return nil, err
	}
	if err := inv.take(c.VCenter.Name, content); err != nil {
		return nil, err
	}
	all := inv.VMs
	if err := inv.choose(c.VCenter.Name, s, c.VCenter.Datacenters); err != nil {
		return nil, err
	}
	if err := inv.readTags(ctx, c); err != nil {
		err = fmt.Errorf("read tags: %w", err)
		if len(s.Tags) > 0 {
			return nil, err
		}
		inv.Warnings = append(inv.Warnings, err.Error()+": VMs have no region and zone")
	}
	inv.VMs = slices.DeleteFunc(inv.VMs, func(vm VM) bool { return !s.tagged(vm.Tags) })
	inv.place(categories)
	inv.warnNames(s, all)
	slices.SortFunc(inv.VMs, func(a, b VM) int { return cmp.Or(cmp.Compare(a.Path, b.Path), cmp.Compare(a.Ref.Value, b.Ref.Value)) })
	return inv, nil
}

// take makes objects of what was read. A VM that is in a vApp has no folder: it lies in the vApp.
func (inv *Inventory) take(vcenter string, content []types.ObjectContent) error {
	for _, one := range content {
		o := inv.Tree[one.Obj]
		if o == nil {
			o = &Object{Ref: one.Obj}
			inv.Tree[one.Obj] = o
		}
		for _, p := range one.PropSet {
			switch value := p.Val.(type) {
			case string:
				if p.Name == "name" {
					o.Name = value
				}
			case types.ManagedObjectReference:
				if p.Name == "parent" || p.Name == "parentVApp" && o.Parent.Value == "" {
					o.Parent = value
				}
			}
		}
	}
	var vms []mo.VirtualMachine
	machines := slices.DeleteFunc(slices.Clone(content), func(o types.ObjectContent) bool {
		return o.Obj.Type != "VirtualMachine" || len(o.PropSet) < 3 // with the two of any entity alone
	})
	if err := mo.LoadObjectContent(machines, &vms); err != nil {
		return fmt.Errorf("vcenter %q: read VMs: %w", vcenter, err)
	}
	for i := range vms {
		vm := newVM(vcenter, &vms[i])
		inv.locate(&vm)
		inv.VMs = append(inv.VMs, vm)
	}
	return nil
}

// locate says where a VM is.
func (inv *Inventory) locate(vm *VM) {
	t := inv.Tree
	vm.Path = t.Path(vm.Ref)
	if dc := t.Above(vm.Ref, "Datacenter"); dc != nil {
		vm.Datacenter = dc.Name
	}
	if o := t[vm.Ref]; o != nil && o.Parent.Type == "Folder" {
		vm.Folder = t.Folder(o.Parent)
	}
	vm.Pool = t.Pool(vm.PoolRef)
	if host := t[vm.HostRef]; host != nil {
		vm.Host = host.Name
	}
	if cluster := t.Above(vm.HostRef, "ClusterComputeResource"); cluster != nil {
		vm.Cluster = cluster.Name
	}
}

// page is how many objects an answer may hold: what a slow vCenter tells of within one call's time.
const page = 500

// retrieve reads properties of everything in the inventory that the account may see, each page a call.
func retrieve(ctx context.Context, c *vcenter.Connection, kinds []string, specs []types.PropertySpec) ([]types.ObjectContent, error) {
	var v *view.ContainerView
	err := c.Do(ctx, func(ctx context.Context, vim *vim25.Client) (err error) {
		v, err = view.NewManager(vim).CreateContainerView(ctx, vim.ServiceContent.RootFolder, kinds, true)
		return err
	})
	if err != nil {
		return nil, fmt.Errorf("list inventory: %w", err)
	}
	defer func() {
		if ctx.Err() != nil {
			return // nobody waits for an answer any more; a view that stays behind goes with the session
		}
		_ = c.Do(ctx, func(ctx context.Context, _ *vim25.Client) error { return v.Destroy(ctx) })
	}()
	ref := v.Reference()
	all, err := Retrieve(ctx, c, types.PropertyFilterSpec{
		PropSet: specs,
		ObjectSet: []types.ObjectSpec{{
			Obj: ref, Skip: new(true),
			SelectSet: []types.BaseSelectionSpec{&types.TraversalSpec{Type: ref.Type, Path: "view"}},
		}},
	})
	if err != nil {
		return nil, fmt.Errorf("read inventory: %w", err)
	}
	return all, nil
}

// Retrieve reads what the filter says, page by page, each a call with a deadline of its own.
func Retrieve(ctx context.Context, c *vcenter.Connection, filter types.PropertyFilterSpec) ([]types.ObjectContent, error) {
	var (
		all   []types.ObjectContent
		token string
	)
	err := c.Do(ctx, func(ctx context.Context, vim *vim25.Client) error {
		res, err := methods.RetrievePropertiesEx(ctx, vim, &types.RetrievePropertiesEx{
			This: vim.ServiceContent.PropertyCollector, SpecSet: []types.PropertyFilterSpec{filter},
			Options: types.RetrieveOptions{MaxObjects: page},
		})
		if err == nil && res.Returnval != nil {
			all, token = res.Returnval.Objects, res.Returnval.Token
		}
		return err
	})
	for err == nil && token != "" {
		err = c.Do(ctx, func(ctx context.Context, vim *vim25.Client) error {
			res, err := methods.ContinueRetrievePropertiesEx(ctx, vim, &types.ContinueRetrievePropertiesEx{
				This: vim.ServiceContent.PropertyCollector, Token: token,
			})
			if err == nil {
				all, token = append(all, res.Returnval.Objects...), res.Returnval.Token
			}
			return err
		})
	}
	return all, err
}
