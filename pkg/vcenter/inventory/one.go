package inventory

import (
	"context"
	"fmt"

	"github.com/vmware/govmomi/vapi/rest"
	"github.com/vmware/govmomi/vapi/tags"
	"github.com/vmware/govmomi/vim25/types"

	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/vcenter"
)

// ReadVM reads one VM as it is now, with its place and, where withTags, its own tags: what is to be known before it is
// written to. Region and zone are left out. A VM that is not there any more, or that the account may not see, is an error.
func ReadVM(ctx context.Context, c *vcenter.Connection, ref types.ManagedObjectReference, withTags bool) (VM, error) {
	inv := &Inventory{Tree: Tree{}}
	content, err := Retrieve(ctx, c, types.PropertyFilterSpec{
		ObjectSet: []types.ObjectSpec{{Obj: ref}},
		PropSet:   []types.PropertySpec{{Type: "VirtualMachine", PathSet: vmProperties()}},
	})
	if err == nil {
		err = inv.take(c.VCenter.Name, content)
	}
	if err != nil {
		return VM{}, fmt.Errorf("read VM %s: %w", ref.Value, err)
	}
	if len(inv.VMs) != 1 {
		return VM{}, fmt.Errorf("read VM %s: vcenter %q: there is none that this account may see", ref.Value, c.VCenter.Name)
	}
	for _, one := range []types.ManagedObjectReference{inv.Tree[ref].Parent, inv.VMs[0].HostRef, inv.VMs[0].PoolRef} {
		if err := inv.climb(ctx, c, one); err != nil {
			return VM{}, fmt.Errorf("read what VM %s is in: %w", ref.Value, err)
		}
	}
	vm := inv.VMs[0]
	inv.locate(&vm)
	if withTags {
		if vm.Tags, err = tagsOf(ctx, c, ref); err != nil {
			return VM{}, fmt.Errorf("read tags of VM %s: %w", ref.Value, err)
		}
	}
	return vm, nil
}

// climb reads an object and all that are around it, each a call: there are a handful.
func (inv *Inventory) climb(ctx context.Context, c *vcenter.Connection, ref types.ManagedObjectReference) error {
	for range deepest {
		if ref.Value == "" || inv.Tree[ref] != nil {
			return nil
		}
		content, err := Retrieve(ctx, c, types.PropertyFilterSpec{
			ObjectSet: []types.ObjectSpec{{Obj: ref}},
			PropSet:   []types.PropertySpec{{Type: ref.Type, PathSet: []string{"name", "parent"}}},

			ReportMissingObjectsInResults: new(true),
		})
		if err == nil {
			err = inv.take(c.VCenter.Name, content)
		}
		if err != nil {
			return err
		}
		if inv.Tree[ref] == nil {
			return nil // it is not for this account to see: paths begin below it
		}
		ref = inv.Tree[ref].Parent
	}
	return nil
}

// tagsOf reads the tags on an object.
func tagsOf(ctx context.Context, c *vcenter.Connection, ref types.ManagedObjectReference) ([]Tag, error) {
	var (
		ids []string
		all []Tag
	)
	err := c.DoREST(ctx, func(ctx context.Context, rc *rest.Client) (err error) {
		ids, err = tags.NewManager(rc).ListAttachedTags(ctx, ref)
		return err
	})
	names, categories := map[string]Tag{}, map[string]string{}
	for _, id := range ids {
		if err != nil {
			break
		}
		var tag Tag
		tag, err = learn(ctx, c, id, names, categories)
		all = append(all, tag)
	}
	return all, err
}
