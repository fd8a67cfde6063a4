package tag

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/vmware/govmomi/vapi/rest"
	"github.com/vmware/govmomi/vapi/tags"

	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/sim/fault"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/sim/fault/internal/vsphere"
)

// state is what an object has of a category.
type state struct {
	category tags.Category
	all      []tags.Tag // of the category
	names    []string   // attached
}

// manage calls f with the tags of a vCenter.
func manage(ctx context.Context, ep *fault.Endpoint, f func(context.Context, *tags.Manager) error) error {
	return ep.REST(ctx, func(ctx context.Context, c *rest.Client) error { return f(ctx, tags.NewManager(c)) })
}

// find returns the category of that name, nil when there is none.
func find(ctx context.Context, m *tags.Manager, name string) (*tags.Category, error) {
	all, err := m.GetCategories(ctx)
	if err != nil {
		return nil, err
	}
	for i := range all {
		if all[i].Name == name {
			return &all[i], nil
		}
	}
	return nil, nil
}

// read reads what an object has.
func read(ctx context.Context, ep *fault.Endpoint, name string, ref vsphere.Ref) (s state, err error) {
	err = manage(ctx, ep, func(ctx context.Context, m *tags.Manager) error {
		category, err := find(ctx, m, name)
		if err != nil {
			return err
		}
		if category == nil {
			return fault.Refuse("vcenter %q: there is no tag category %q", ep.Name, name)
		}
		s.category = *category
		if s.all, err = m.GetTagsForCategory(ctx, category.ID); err != nil {
			return fmt.Errorf("tags of category %q: %w", name, err)
		}
		slices.SortFunc(s.all, func(a, b tags.Tag) int { return strings.Compare(a.Name, b.Name) })
		attached, err := m.ListAttachedTags(ctx, ref)
		if err != nil {
			return fmt.Errorf("tags of %s: %w", ref.Value, err)
		}
		s.names = nil
		for _, t := range s.all {
			if slices.Contains(attached, t.ID) {
				s.names = append(s.names, t.Name)
			}
		}
		return nil
	})
	return s, err
}

// other is the name, or without one that of the first tag of the category that neither is attached nor in but.
func (s state) other(name string, but ...string) string {
	if name != "" {
		return name
	}
	for _, t := range s.all {
		if !slices.Contains(s.names, t.Name) && !slices.Contains(but, t.Name) {
			return t.Name
		}
	}
	for _, n := range append(slices.Clone(s.names), but...) {
		return n + "-2"
	}
	return "another"
}

// list names the tags for people: "k8s-zone/us-west".
func (s state) list() string {
	var list []string
	for _, n := range s.names {
		list = append(list, s.category.Name+"/"+n)
	}
	return strings.Join(list, ", ")
}

// tag returns one by name, nil when there is none of it.
func (s state) tag(name string) *tags.Tag {
	for i := range s.all {
		if s.all[i].Name == name {
			return &s.all[i]
		}
	}
	return nil
}
