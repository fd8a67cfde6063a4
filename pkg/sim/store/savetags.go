package store

import (
	"cmp"
	"slices"

	"github.com/vmware/govmomi/vapi/tags"

	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/sim/internal/vc"
	rests "github.com/vsphere-sandbox/vsphere-sandbox/pkg/sim/rest"
)

// tags saves categories, tags and what they are attached to, by name: the API tells no order.
func (s *saver) tags() error {
	if s.rest == nil {
		return nil
	}
	m := tags.NewManager(s.rest)
	categories, err := m.GetCategories(s.ctx)
	if err != nil {
		return err
	}
	all, err := m.GetTags(s.ctx)
	if err != nil {
		return err
	}
	slices.SortFunc(categories, func(a, b tags.Category) int { return cmp.Or(cmp.Compare(a.Name, b.Name), cmp.Compare(a.ID, b.ID)) })
	slices.SortFunc(all, func(a, b tags.Tag) int {
		return cmp.Or(cmp.Compare(a.CategoryID, b.CategoryID), cmp.Compare(a.Name, b.Name), cmp.Compare(a.ID, b.ID))
	})
	var out rests.Snapshot
	for _, c := range categories {
		out.Categories = append(out.Categories, rests.Category{
			ID: c.ID, Name: c.Name, Description: c.Description, Cardinality: c.Cardinality,
			AssociableTypes: slices.Sorted(slices.Values(c.AssociableTypes)), UsedBy: c.UsedBy,
		})
	}
	var ids []string
	for _, t := range all {
		out.Tags = append(out.Tags, rests.Tag{
			ID: t.ID, CategoryID: t.CategoryID, Name: t.Name, Description: t.Description, UsedBy: t.UsedBy,
		})
		ids = append(ids, t.ID)
	}
	on := make(map[string][]vc.Ref)
	for part := range slices.Chunk(ids, 500) {
		attached, err := m.ListAttachedObjectsOnTags(s.ctx, part)
		if err != nil {
			return err
		}
		for _, a := range attached {
			for _, o := range a.ObjectIDs {
				ref := o.Reference()
				on[a.TagID] = append(on[a.TagID], vc.Ref{Type: ref.Type, Value: ref.Value})
			}
		}
	}
	for _, id := range ids {
		for _, ref := range distinct(on[id]) {
			out.Associations = append(out.Associations, rests.Association{TagID: id, Object: ref})
		}
	}
	if s.scrubber != nil {
		out = scrub(s.scrubber, out)
	}
	s.summary.Tags = len(out.Tags)
	return s.writer.json(tagsName, out)
}
