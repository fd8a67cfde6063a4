package tag

import (
	"context"
	"fmt"

	"github.com/vmware/govmomi/vapi/tags"

	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/event"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/sim/fault"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/sim/fault/internal/vsphere"
)

// renamed is a category with another name.
type renamed struct {
	ID  string `json:"id"`
	Was string `json:"was"`
	Is  string `json:"is"`
}

func categoryRenamed() *fault.Kind {
	return fault.New(fault.Kind{
		Name:  "tag.category-renamed",
		Short: "renames the tag category of zones or regions in vCenters",
		Long: `All tags stay where they are, in a category that nobody looks for any more: to the cloud provider no node has a zone. Healing
gives the category its name back.`,
		Object: fault.VCenter, Touches: "tags",
		Params: []fault.Param{category(), {Name: "to", Short: "the name; without it, the old one with -renamed", Type: fault.Text}},
	}, fault.Steps[renamed]{
		Plan: func(ctx context.Context, c *fault.Call) (r renamed, does string, err error) {
			ep, err := vsphere.At(c)
			if err != nil {
				return r, "", err
			}
			r.Was, r.Is = called(c), c.Params.Text("to")
			if r.Is == "" {
				r.Is = r.Was + "-renamed"
			}
			err = manage(ctx, ep, func(ctx context.Context, m *tags.Manager) error {
				category, err := find(ctx, m, r.Was)
				if err != nil {
					return err
				}
				if category == nil {
					return fault.Refuse("vcenter %q: there is no tag category %q", ep.Name, r.Was)
				}
				r.ID = category.ID
				other, err := find(ctx, m, r.Is)
				if err == nil && other != nil {
					err = fault.Refuse("vcenter %q: there is a tag category %q already", ep.Name, r.Is)
				}
				return err
			})
			return r, fmt.Sprintf("rename category %s to %s", r.Was, r.Is), err
		},
		Apply: func(ctx context.Context, c *fault.Call, r *renamed) error {
			if err := rename(ctx, c, r.ID, r.Is); err != nil {
				return err
			}
			c.Note("tag-category.renamed", event.Warning, "tag category %s is called %s", r.Was, r.Is)
			return nil
		},
		Revert: func(ctx context.Context, c *fault.Call, r *renamed) error {
			return rename(ctx, c, r.ID, r.Was)
		},
	})
}

// rename gives a category a name; one that has it, or is gone, is left alone.
func rename(ctx context.Context, c *fault.Call, id, name string) error {
	ep, err := vsphere.At(c)
	if err != nil {
		return err
	}
	return manage(ctx, ep, func(ctx context.Context, m *tags.Manager) error {
		all, err := m.GetCategories(ctx)
		if err != nil {
			return err
		}
		for i := range all {
			if all[i].ID == id && all[i].Name != name {
				all[i].Name = name
				return m.UpdateCategory(ctx, &all[i])
			}
		}
		return nil
	})
}
