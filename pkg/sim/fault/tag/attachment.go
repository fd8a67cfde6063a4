package tag

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/vmware/govmomi/vapi/rest"
	"github.com/vmware/govmomi/vapi/tags"
	"github.com/vmware/govmomi/vim25/mo"

	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/sim/fault"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/sim/fault/internal/vsphere"
)

// changed is the change of an object's tags.
type changed struct {
	// Category is an ID, like the fields below.
	Category string   `json:"category"`
	Remove   []string `json:"remove,omitempty"`
	Add      []string `json:"add,omitempty"`
	// Make is the name of a tag that must be created and attached; Made is its ID, created for this lease or another.
	Make string `json:"make,omitempty"`
	Made string `json:"made,omitempty"`
	// Widen is set if the category must allow several tags, Widened once it does.
	Widen   bool `json:"widen,omitempty"`
	Widened bool `json:"widened,omitempty"`
}

// marked is the description of a tag that was created for a lease.
const marked = "made for a fault, deleted when that is healed"

// attachment returns a kind that changes which tags of a category its target has. decide returns the names of the target's tags,
// and a description.
func attachment(k fault.Kind, decide func(context.Context, *fault.Call, state) (names []string, does string, err error)) *fault.Kind {
	k.Aspect = "tags"
	return fault.New(k, fault.Steps[changed]{
		Plan: func(ctx context.Context, c *fault.Call) (ch changed, does string, err error) {
			ep, err := vsphere.At(c)
			if err != nil {
				return ch, "", err
			}
			have, err := read(ctx, ep, called(c), c.Target.Ref)
			if err != nil {
				return ch, "", err
			}
			names, does, err := decide(ctx, c, have)
			if err != nil {
				return ch, "", err
			}
			ch.Category = have.category.ID
			for _, n := range have.names {
				if !slices.Contains(names, n) {
					ch.Remove = append(ch.Remove, have.tag(n).ID)
				}
			}
			for _, n := range names {
				switch t := have.tag(n); {
				case slices.Contains(have.names, n):
				case t == nil:
					ch.Make = n
				case t.Description == marked:
					ch.Made = t.ID
				default:
					ch.Add = append(ch.Add, t.ID)
				}
			}
			return ch, does, ch.allowed(c, ep, have.category, len(names))
		},
		Apply: func(ctx context.Context, c *fault.Call, ch *changed) error {
			ep, err := vsphere.At(c)
			if err != nil {
				return err
			}
			defer vsphere.Causing(c, ep, c.Target.Ref)()
			return ch.apply(ctx, ep, c.Target.Ref)
		},
		Revert: func(ctx context.Context, c *fault.Call, ch *changed) error {
			ep, err := vsphere.At(c)
			if err != nil {
				return err
			}
			defer vsphere.Causing(c, ep, c.Target.Ref)()
			return ch.revert(ctx, ep, c.Target.Ref)
		},
	})
}

// allowed returns an error if the category does not allow that many tags on the target.
func (ch *changed) allowed(c *fault.Call, ep *fault.Endpoint, category tags.Category, many int) error {
	if many > 0 && len(category.AssociableTypes) > 0 && !slices.Contains(category.AssociableTypes, c.Target.Ref.Type) {
		return fault.Refuse("%s: tags of category %q cannot be attached to a %s", c.Target, category.Name, c.Target.Ref.Type)
	}
	ch.Widen = many > 1 && ep.Sim != nil
	if many > 1 && category.Cardinality == "SINGLE" && ep.Sim == nil {
		return fault.Refuse("%s: category %q allows one tag per object, and vcenter %q is a real one, where that could not be taken back",
			c.Target, category.Name, ep.Name)
	}
	return nil
}

func (ch *changed) apply(ctx context.Context, ep *fault.Endpoint, ref vsphere.Ref) error {
	if ch.Widen {
		if err := ep.Sim.AllowSeveralTags(ch.Category, true); err != nil {
			return err
		}
		ch.Widened = true
	}
	return manage(ctx, ep, func(ctx context.Context, m *tags.Manager) (err error) {
		if ch.Make != "" && ch.Made == "" {
			if ch.Made, err = made(ctx, m, ch); err != nil {
				return err
			}
		}
		return exchange(ctx, m, ref, ch.Remove, append(slices.Clone(ch.Add), ch.Made))
	})
}

// made returns the tag, created unless another target of the lease has created it.
func made(ctx context.Context, m *tags.Manager, ch *changed) (string, error) {
	id, err := m.CreateTag(ctx, &tags.Tag{Name: ch.Make, Description: marked, CategoryID: ch.Category})
	if err == nil {
		return id, nil
	}
	all, lerr := m.GetTagsForCategory(ctx, ch.Category)
	if lerr != nil {
		return "", err
	}
	for _, t := range all {
		if t.Name == ch.Make {
			return t.ID, nil
		}
	}
	return "", err
}

func (ch *changed) revert(ctx context.Context, ep *fault.Endpoint, ref vsphere.Ref) error {
	var entity mo.ManagedEntity
	err := vsphere.Get(ctx, ep, ref, &entity, "name")
	gone := vsphere.IsGone(err)
	if err != nil && !gone {
		return err
	}
	if err := manage(ctx, ep, func(ctx context.Context, m *tags.Manager) error {
		if !gone {
			if err := exchange(ctx, m, ref, append(slices.Clone(ch.Add), ch.Made), ch.Remove); err != nil {
				return err
			}
		}
		return unmade(ctx, m, ch.Made)
	}); err != nil || !ch.Widened {
		return err
	}
	ch.Widened = false // once is enough
	return ep.Sim.AllowSeveralTags(ch.Category, false)
}

// exchange detaches and attaches tags, as far as that is not done. It cannot attach deleted tags.
func exchange(ctx context.Context, m *tags.Manager, ref vsphere.Ref, remove, add []string) error {
	has, err := m.ListAttachedTags(ctx, ref)
	if err != nil {
		return err
	}
	for _, id := range remove {
		if id != "" && slices.Contains(has, id) {
			if err := m.DetachTag(ctx, id, ref); err != nil {
				return err
			}
		}
	}
	known, err := m.ListTags(ctx)
	if err != nil {
		return err
	}
	for _, id := range add {
		if id != "" && !slices.Contains(has, id) && slices.Contains(known, id) {
			if err := m.AttachTag(ctx, id, ref); err != nil {
				return err
			}
		}
	}
	return nil
}

// unmade deletes a created tag, once no object has it.
func unmade(ctx context.Context, m *tags.Manager, id string) error {
	if id == "" {
		return nil
	}
	known, err := m.ListTags(ctx)
	if err != nil || !slices.Contains(known, id) {
		return err
	}
	objects, err := m.ListAttachedObjects(ctx, id)
	if err != nil || len(objects) > 0 {
		return err
	}
	if err := m.DeleteTag(ctx, &tags.Tag{ID: id}); err != nil {
		if known, lerr := m.ListTags(ctx); lerr != nil || slices.Contains(known, id) {
			return err
		}
	}
	return nil // another target of the lease may have been faster
}

// state is an object's state in a category.
type state struct {
	category tags.Category
	all      []tags.Tag // in the category
	names    []string   // attached
}

// manage calls f with the tags of a vCenter.
func manage(ctx context.Context, ep *fault.Endpoint, f func(context.Context, *tags.Manager) error) error {
	return ep.REST(ctx, func(ctx context.Context, c *rest.Client) error { return f(ctx, tags.NewManager(c)) })
}

// find returns the category with that name, or nil.
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

// read reads the state of an object.
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

// other returns the name, or if empty the first tag of the category that is neither attached nor in but.
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

// list formats the tags: "k8s-zone/us-west".
func (s state) list() string {
	var list []string
	for _, n := range s.names {
		list = append(list, s.category.Name+"/"+n)
	}
	return strings.Join(list, ", ")
}

// tag returns the tag with that name, or nil.
func (s state) tag(name string) *tags.Tag {
	for i := range s.all {
		if s.all[i].Name == name {
			return &s.all[i]
		}
	}
	return nil
}
