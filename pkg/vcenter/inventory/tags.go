package inventory

import (
	"cmp"
	"context"
	"slices"

	"github.com/vmware/govmomi/vapi/rest"
	"github.com/vmware/govmomi/vapi/tags"
	"github.com/vmware/govmomi/vim25/mo"
	"github.com/vmware/govmomi/vim25/types"

	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/vcenter"
)

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
