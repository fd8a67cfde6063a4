package inspect

import (
	"context"

	"github.com/vmware/govmomi/vapi/rest"
	"github.com/vmware/govmomi/vapi/tags"
	"github.com/vmware/govmomi/vim25/mo"

	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/sandbox/explain"
)

// Categories implements [explain.Inventory].
func (a reader) Categories(ctx context.Context) (names []string, err error) {
	err = a.Client.DoREST(ctx, func(ctx context.Context, rc *rest.Client) error {
		list, err := tags.NewManager(rc).GetCategories(ctx)
		names = []string{}
		for _, c := range list {
			names = append(names, c.Name)
		}
		return err
	})
	return names, err
}

// tag adds to all objects on the ways up of VMs the tags that they have, or to the VMs why that is not known.
func (a reader) tag(ctx context.Context, list []explain.Machine, entities map[ref]entity) {
	refs := make([]ref, 0, len(entities))
	for r := range entities {
		refs = append(refs, r)
	}
	of, err := a.tagsOf(ctx, refs)
	for i := range list {
		m := &list[i]
		m.TagsErr = err
		for _, walk := range [][]explain.Object{m.FromHost, m.FromPool, m.FromVM} {
			for k, o := range walk {
				walk[k].Tags = of[ref{Type: o.Type, Value: o.Ref}]
			}
		}
	}
}

// tagsOf reads the tags of objects, with the names of their categories.
func (a reader) tagsOf(ctx context.Context, refs []ref) (map[ref][]explain.Tag, error) {
	if len(refs) == 0 {
		return nil, nil
	}
	objects := make([]mo.Reference, len(refs))
	for i, r := range refs {
		objects[i] = r
	}
	of := map[ref][]explain.Tag{}
	err := a.Client.DoREST(ctx, func(ctx context.Context, rc *rest.Client) error {
		m := tags.NewManager(rc)
		attached, err := m.GetAttachedTagsOnObjects(ctx, objects)
		if err != nil {
			return err
		}
		categories := map[string]string{}
		for _, o := range attached {
			for _, t := range o.Tags {
				if _, known := categories[t.CategoryID]; !known {
					c, err := m.GetCategory(ctx, t.CategoryID)
					if err != nil {
						return err
					}
					categories[t.CategoryID] = c.Name
				}
				r := o.ObjectID.Reference()
				of[r] = append(of[r], explain.Tag{Category: categories[t.CategoryID], Name: t.Name})
			}
		}
		return nil
	})
	return of, err
}
