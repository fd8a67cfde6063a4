package inventory

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/vmware/govmomi/vapi/rest"
	"github.com/vmware/govmomi/vapi/tags"
	"github.com/vmware/govmomi/view"
	"github.com/vmware/govmomi/vim25"
	"github.com/vmware/govmomi/vim25/methods"
	"github.com/vmware/govmomi/vim25/mo"
	"github.com/vmware/govmomi/vim25/types"

	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/vcenter"
)

// Categories are the tag categories of regions and zones.
type Categories struct{ Region, Zone string }

// Inventory is the result of a read.
type Inventory struct {
	// VMs are the selected VMs, by path.
	VMs []VM
	// Tree holds everything that the account may see.
	Tree Tree
	// Absent are the missing paths of the selection. See [CheckAbsent].
	Absent []Absent
	// Warnings describe what could not be read or matched nothing, one line each.
	Warnings []string
}

// Read reads the selected VMs in the vCenter's configured datacenters. A missing path of the selection may be in another vCenter:
// after all reads, call [CheckAbsent]. A name pattern without a VM is a warning. So is a vCenter without readable tags, unless the
// selection needs them.
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
		root := vim.ServiceContent.RootFolder // the ancestor of all objects, not part of a view
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

// take adds the objects that were read. A VM in a vApp has no folder: its parent is the vApp.
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
		return o.Obj.Type != "VirtualMachine" || len(o.PropSet) < 3 // only has the two properties of every entity
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

// locate sets the place of a VM.
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

// page is the number of objects in an answer, small enough for a slow vCenter's call.
const page = 500

// retrieve reads properties of all objects that the account may see, with one call for each page.
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
			return // the caller has left; the session removes the view
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

// Retrieve reads what the filter selects, page by page, with a timeout for each call.
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

// Object is an object of the inventory.
type Object struct {
	Ref  types.ManagedObjectReference
	Name string
	// Parent is zero for the root folder, and for an invisible parent.
	Parent types.ManagedObjectReference
	// Tags are the object's tags; they are known for selected VMs, networks, and ancestors of VMs and disks.
	Tags []Tag
}

// Tree holds the objects of a vCenter by reference.
type Tree map[types.ManagedObjectReference]*Object

// deepest exceeds any nesting, to stop at loops of parents.
const deepest = 64

// Up returns the object and its ancestors, the root folder last.
func (t Tree) Up(ref types.ManagedObjectReference) []*Object {
	var all []*Object
	for o := t[ref]; o != nil && len(all) < deepest; o = t[o.Parent] {
		all = append(all, o)
	}
	return all
}

// Path returns the inventory path, without the root folder's name.
func (t Tree) Path(ref types.ManagedObjectReference) string {
	var b strings.Builder
	up := t.Up(ref)
	for _, u := range slices.Backward(up) {
		if u.Parent.Value == "" && u.Ref.Type == "Folder" {
			continue
		}
		b.WriteString("/" + u.Name)
	}
	return b.String()
}

// Above returns the nearest object of one of the types among ref and its ancestors, or nil.
func (t Tree) Above(ref types.ManagedObjectReference, kinds ...string) *Object {
	for _, o := range t.Up(ref) {
		if slices.Contains(kinds, o.Ref.Type) {
			return o
		}
	}
	return nil
}

// below returns the path of ref below the top folder or pool in an object of one of the types: the VM folder of a datacenter, or
// the root pool of a compute resource.
func (t Tree) below(ref types.ManagedObjectReference, kinds ...string) string {
	up := t.Up(ref)
	var names []string
	for i := range up {
		if i+1 < len(up) && isOne(up[i+1].Ref.Type, kinds) || isOne(up[i].Ref.Type, kinds) {
			break
		}
		names = append([]string{up[i].Name}, names...)
	}
	return strings.Join(names, "/")
}

func isOne(kind string, kinds []string) bool {
	return slices.Contains(kinds, kind)
}

// Folder returns the path of a VM folder below its datacenter's; empty for that one.
func (t Tree) Folder(ref types.ManagedObjectReference) string { return t.below(ref, "Datacenter") }

// Pool returns the path of a resource pool or vApp below the root pool of its compute resource; empty for that one.
func (t Tree) Pool(ref types.ManagedObjectReference) string {
	return t.below(ref, "ComputeResource", "ClusterComputeResource")
}

// readTags reads the tags of the selected VMs, of networks, and of all ancestors of VMs and disks: one call for 500 objects, and
// one for each tag and category.
func (inv *Inventory) readTags(ctx context.Context, c *vcenter.Connection) error {
	names, categories := map[string]Tag{}, map[string]string{}
	for refs := range slices.Chunk(inv.taggable(), page) {
		var on []tags.AttachedTags
		err := c.DoREST(ctx, func(ctx context.Context, rc *rest.Client) (err error) {
			on, err = tags.NewManager(rc).ListAttachedTagsOnObjects(ctx, refs)
			return err
		})
		if err != nil {
			return err
		}
		for _, one := range on {
			o := inv.Tree[one.ObjectID.Reference()]
			for _, id := range one.TagIDs {
				tag, err := learn(ctx, c, id, names, categories)
				if err != nil {
					return err
				}
				if o != nil {
					o.Tags = append(o.Tags, tag)
				}
			}
		}
	}
	for _, o := range inv.Tree {
		slices.SortFunc(o.Tags, func(a, b Tag) int { return cmp.Or(cmp.Compare(a.Category, b.Category), cmp.Compare(a.Name, b.Name)) })
	}
	for i := range inv.VMs {
		if o := inv.Tree[inv.VMs[i].Ref]; o != nil {
			inv.VMs[i].Tags = o.Tags
		}
	}
	return nil
}

// taggable returns the objects whose tags matter, in a stable order.
func (inv *Inventory) taggable() []mo.Reference {
	kinds := []string{
		"Folder", "Datacenter", "ComputeResource", "ClusterComputeResource", "HostSystem", "ResourcePool", "VirtualApp", "Datastore", "StoragePod",
		"Network", "DistributedVirtualPortgroup",
	}
	var refs []types.ManagedObjectReference
	for ref := range inv.Tree {
		if slices.Contains(kinds, ref.Type) {
			refs = append(refs, ref)
		}
	}
	for _, vm := range inv.VMs {
		refs = append(refs, vm.Ref)
	}
	slices.SortFunc(refs, func(a, b types.ManagedObjectReference) int {
		return cmp.Or(cmp.Compare(a.Type, b.Type), cmp.Compare(a.Value, b.Value))
	})
	all := make([]mo.Reference, len(refs))
	for i, ref := range refs {
		all[i] = ref
	}
	return all
}

// learn returns the names of a tag, reading it once.
func learn(ctx context.Context, c *vcenter.Connection, id string, names map[string]Tag, categories map[string]string) (Tag, error) {
	if tag, ok := names[id]; ok {
		return tag, nil
	}
	var tag *tags.Tag
	err := c.DoREST(ctx, func(ctx context.Context, rc *rest.Client) (err error) {
		tag, err = tags.NewManager(rc).GetTag(ctx, id)
		return err
	})
	if err != nil {
		return Tag{}, err
	}
	category, ok := categories[tag.CategoryID]
	if !ok {
		err := c.DoREST(ctx, func(ctx context.Context, rc *rest.Client) error {
			found, err := tags.NewManager(rc).GetCategory(ctx, tag.CategoryID)
			if err == nil {
				category = found.Name
			}
			return err
		})
		if err != nil {
			return Tag{}, err
		}
		categories[tag.CategoryID] = category
	}
	names[id] = Tag{category, tag.Name}
	return names[id], nil
}
