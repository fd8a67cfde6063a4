package apply

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/vmware/govmomi/vapi/rest"
	"github.com/vmware/govmomi/vapi/tags"

	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/topology"
)

// tagState is the current state of tags.
type tagState struct {
	categories map[string]*tags.Category
	ids        map[topology.Tag]string
	on         map[ref][]topology.Tag
}

func readTags(ctx context.Context, c Client) (*tagState, error) {
	s := &tagState{categories: map[string]*tags.Category{}, ids: map[topology.Tag]string{}, on: map[ref][]topology.Tag{}}
	return s, c.DoREST(ctx, func(ctx context.Context, rc *rest.Client) error {
		m := tags.NewManager(rc)
		categories, err := m.GetCategories(ctx)
		if err != nil {
			return err
		}
		names := map[string]topology.Tag{}
		var ids []string
		for i := range categories {
			category := &categories[i]
			s.categories[category.Name] = category
			list, err := m.GetTagsForCategory(ctx, category.ID)
			if err != nil {
				return fmt.Errorf("category %q: %w", category.Name, err)
			}
			for _, t := range list {
				tag := topology.Tag{Category: category.Name, Name: t.Name}
				s.ids[tag], names[t.ID] = t.ID, tag
				ids = append(ids, t.ID)
			}
		}
		if len(ids) == 0 {
			return nil
		}
		attached, err := m.ListAttachedObjectsOnTags(ctx, ids)
		if err != nil {
			return err
		}
		for _, a := range attached {
			for _, o := range a.ObjectIDs {
				s.on[o.Reference()] = append(s.on[o.Reference()], names[a.TagID])
			}
		}
		return nil
	})
}

// restStep adds a step that uses the REST endpoint.
func (p *planner) restStep(op Op, kind Kind, path, what string, run func(context.Context, *tags.Manager) error) {
	p.steps = append(p.steps, Step{
		VCenter: p.want.Name, Op: op, Kind: kind, Path: path, What: what,
		run: func(ctx context.Context) error {
			return p.client.DoREST(ctx, func(ctx context.Context, rc *rest.Client) error { return run(ctx, tags.NewManager(rc)) })
		},
	})
}

// categories plans missing and changed tag categories.
func (p *planner) categories() {
	for _, want := range p.opts.Topology.Spec.AllCategories() {
		live := p.tags.categories[want.Name]
		spec := &tags.Category{
			Name: want.Name, Description: want.Description, Cardinality: strings.ToUpper(string(want.Cardinality)), AssociableTypes: want.Types,
		}
		if live == nil {
			p.tags.categories[want.Name] = spec
			p.restStep(Create, KindCategory, want.Name, string(want.Cardinality), func(ctx context.Context, m *tags.Manager) (err error) {
				spec.ID, err = m.CreateCategory(ctx, spec)
				return err
			})
			continue
		}
		if strings.EqualFold(live.Cardinality, spec.Cardinality) && live.Description == spec.Description && same(live.AssociableTypes, spec.AssociableTypes) {
			continue
		}
		switch {
		case strings.EqualFold(live.Cardinality, "MULTIPLE") && want.Cardinality == topology.CardinalitySingle:
			p.cannot(want.Name, "takes several tags an object, and a vCenter does not restrict that again")
		case len(live.AssociableTypes) > 0 && len(spec.AssociableTypes) > 0 && len(less(live.AssociableTypes, spec.AssociableTypes)) > 0,
			len(live.AssociableTypes) == 0 && len(spec.AssociableTypes) > 0:
			p.cannot(want.Name, "a vCenter takes no type of object from a category")
		default:
			spec.ID = live.ID
			p.restStep(Change, KindCategory, want.Name, "", func(ctx context.Context, m *tags.Manager) error { return m.UpdateCategory(ctx, spec) })
		}
	}
}

// newTags plans missing tags.
func (p *planner) newTags(want []*named) {
	for _, tag := range allTags(p.opts.Topology, p.want, want) {
		if _, there := p.tags.ids[tag]; there {
			continue
		}
		category := p.tags.categories[tag.Category]
		p.tags.ids[tag] = ""
		p.restStep(Create, KindTag, tag.Category+"/"+tag.Name, "", func(ctx context.Context, m *tags.Manager) error {
			id, err := m.CreateTag(ctx, &tags.Tag{Name: tag.Name, CategoryID: category.ID})
			p.tags.ids[tag] = id
			return err
		})
	}
}

// allTags returns the tags of a vCenter in a topology, including those of policies.
func allTags(t *topology.Topology, v *topology.VCenter, list []*named) []topology.Tag {
	var all []topology.Tag
	add := func(more []topology.Tag) {
		for _, tag := range more {
			if !slices.Contains(all, tag) {
				all = append(all, tag)
			}
		}
	}
	for i := range v.Policies {
		add(v.Policies[i].Tags)
	}
	for _, n := range list {
		add(tagsOf(t, n.place, n.marks.Tags))
	}
	for _, vm := range vms(v) {
		add(vm.Tags)
	}
	return all
}

// tagsOf returns the tags of an object, including region and zone.
func tagsOf(t *topology.Topology, place topology.Place, more []topology.Tag) []topology.Tag {
	var all []topology.Tag
	categories := t.Spec.AllCategories()
	if place.Region != "" {
		all = append(all, topology.Tag{Category: categories[0].Name, Name: place.Region})
	}
	if place.Zone != "" {
		all = append(all, topology.Tag{Category: categories[1].Name, Name: place.Zone})
	}
	return append(all, more...)
}

// hadTags returns the tags in the previous topology on the object with that key.
func (p *planner) hadTags(key string) []topology.Tag {
	if n := p.before[key]; n != nil {
		return tagsOf(p.opts.Current, n.place, n.marks.Tags)
	}
	return nil
}

// mark plans tags and permissions of an existing or future object.
func (p *planner) mark(kind Kind, path string, holder func() (ref, error), want, had []topology.Tag, granted, before []topology.Permission) {
	var now []topology.Tag
	live, err := holder()
	if err == nil {
		now = p.tags.on[live]
	}
	add := less(want, now)
	var drop []topology.Tag
	for _, tag := range less(now, want) {
		// A category with single cardinality: the other tag must be removed.
		if p.opts.Prune || slices.Contains(had, tag) || p.single(tag.Category) && slices.ContainsFunc(add, func(a topology.Tag) bool { return a.Category == tag.Category }) {
			drop = append(drop, tag)
		}
	}
	if len(add)+len(drop) > 0 {
		var what []string
		for _, t := range drop {
			what = append(what, "-"+t.Category+"/"+t.Name)
		}
		for _, t := range add {
			what = append(what, "+"+t.Category+"/"+t.Name)
		}
		p.restStep(Change, kind, path, "tags "+strings.Join(what, " "), func(ctx context.Context, m *tags.Manager) error {
			on, err := holder()
			if err != nil {
				return err
			}
			for _, t := range drop {
				if err := m.DetachTag(ctx, p.tags.ids[t], on); err != nil {
					return err
				}
			}
			for _, t := range add {
				if err := m.AttachTag(ctx, p.tags.ids[t], on); err != nil {
					return err
				}
			}
			return nil
		})
	}
	p.grant(kind, path, holder, live, granted, before)
}

func (p *planner) single(category string) bool {
	c := p.tags.categories[category]
	return c != nil && strings.EqualFold(c.Cardinality, "SINGLE")
}

// removeTags plans the removal of unused tags and categories.
func (p *planner) removeTags(want []*named) {
	keep := allTags(p.opts.Topology, p.want, want)
	categories := map[string]bool{}
	for _, c := range p.opts.Topology.Spec.AllCategories() {
		categories[c.Name] = true
	}
	var tagsBefore []topology.Tag
	var categoriesBefore []string
	if p.had != nil {
		tagsBefore = allTags(p.opts.Current, p.had, objects(p.had))
		for _, c := range p.opts.Current.Spec.AllCategories() {
			categoriesBefore = append(categoriesBefore, c.Name)
		}
	}
	gone := map[string]bool{}
	for _, name := range slices.Sorted(mapKeys(p.tags.categories)) {
		if !categories[name] && (p.opts.Prune || slices.Contains(categoriesBefore, name)) {
			gone[name] = true
		}
	}
	var list []topology.Tag
	for tag, id := range p.tags.ids {
		if id != "" && !slices.Contains(keep, tag) && (gone[tag.Category] || p.opts.Prune || slices.Contains(tagsBefore, tag)) {
			list = append(list, tag)
		}
	}
	slices.SortFunc(list, func(a, b topology.Tag) int {
		return strings.Compare(a.Category+"\x00"+a.Name, b.Category+"\x00"+b.Name)
	})
	for _, tag := range list {
		p.restStep(Remove, KindTag, tag.Category+"/"+tag.Name, "", func(ctx context.Context, m *tags.Manager) error {
			return m.DeleteTag(ctx, &tags.Tag{ID: p.tags.ids[tag]})
		})
	}
	for _, name := range slices.Sorted(mapKeys(gone)) {
		p.restStep(Remove, KindCategory, name, "", func(ctx context.Context, m *tags.Manager) error {
			return m.DeleteCategory(ctx, p.tags.categories[name])
		})
	}
}
