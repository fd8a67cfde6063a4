package tag

import (
	"cmp"
	"context"
	"fmt"
	"slices"

	"github.com/vmware/govmomi/vapi/tags"

	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/event"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/sim/fault"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/sim/fault/internal/vsphere"
)

// level is a type of object that has tags.
type level struct {
	object fault.Object
	suffix string // of the names of its kinds
	noun   string
}

// levels lists the levels, outermost first.
func levels() []level {
	return []level{
		{fault.Datacenter, "", "datacenters"},
		{fault.Cluster, "-cluster", "compute clusters"},
		{fault.Host, "-host", "hosts"},
		{fault.VM, "-vm", "VMs"},
	}
}

// Kinds returns the faults of tags, in the order of the catalogue.
func Kinds() []*fault.Kind {
	var kinds []*fault.Kind
	for _, kind := range []func(level) *fault.Kind{removed, moved, doubled} {
		for _, l := range levels() {
			kinds = append(kinds, kind(l))
		}
	}
	for _, l := range levels()[1:] {
		kinds = append(kinds, nearerContradicts(l))
	}
	return append(kinds, categoryRenamed())
}

// category returns the parameter that all kinds share: which of the two categories.
func category() fault.Param {
	return fault.Param{Name: "category", Short: "which tags", Type: fault.Text, Default: "zone", Choices: []string{"zone", "region"}}
}

// called returns the name of the category that the parameter selects.
func called(c *fault.Call) string {
	if c.Params.Text("category") == "region" {
		return c.Ground.Categories.Region
	}
	return c.Ground.Categories.Zone
}

func removed(l level) *fault.Kind {
	return attachment(fault.Kind{
		Name:  "tag.removed" + l.suffix,
		Short: "removes the zone or region tag from " + l.noun,
		Long: `Nodes there are in no zone any more, unless an object above has a tag, too; labels that a node has are kept by a good cloud
provider. Healing attaches the same tags again.`,
		Object: l.object, Params: []fault.Param{category()},
		Reported: []string{"vsphere-csi-driver#466"},
	}, func(_ context.Context, c *fault.Call, have state) ([]string, string, error) {
		if len(have.names) == 0 {
			return nil, "", none(c, have)
		}
		return []string{}, "remove " + have.list(), nil
	})
}

// none refuses an object without a tag of the category.
func none(c *fault.Call, have state) error {
	return fault.Refuse("%s: has no tag of category %q", c.Target, have.category.Name)
}

func moved(l level) *fault.Kind {
	return attachment(fault.Kind{
		Name:  "tag.moved" + l.suffix,
		Short: "gives " + l.noun + " the tag of another zone or region",
		Long: `As when an administrator moves a cluster to another zone, with nodes in it: their labels are what Kubernetes has never expected to
change. A missing tag is created, and healing deletes it.`,
		Object: l.object,
		Params: []fault.Param{category(), {Name: "to", Short: "name of the tag; without it, another one that there is", Type: fault.Text}},
	}, func(_ context.Context, c *fault.Call, have state) ([]string, string, error) {
		if len(have.names) == 0 {
			return nil, "", none(c, have)
		}
		to := have.other(c.Params.Text("to"))
		if slices.Contains(have.names, to) {
			return nil, "", fault.Refuse("%s: has tag %q already", c.Target, to)
		}
		return []string{to}, "replace " + have.list() + " by " + have.category.Name + "/" + to, nil
	})
}

func doubled(l level) *fault.Kind {
	return attachment(fault.Kind{
		Name:  "tag.doubled" + l.suffix,
		Short: "gives " + l.noun + " a second tag of zone or region",
		Long: `A category that allows one tag per object allows several for the time being, which takes a simulated vCenter: a real one
does not let that be taken back. Which of the two tags counts is anybody's guess.`,
		Object: l.object,
		Params: []fault.Param{category(), {Name: "with", Short: "name of the second tag; without it, another one that there is", Type: fault.Text}},
	}, func(_ context.Context, c *fault.Call, have state) ([]string, string, error) {
		if len(have.names) == 0 {
			return nil, "", none(c, have)
		}
		with := have.other(c.Params.Text("with"))
		if slices.Contains(have.names, with) {
			return nil, "", fault.Refuse("%s: has tag %q already", c.Target, with)
		}
		return append(slices.Clone(have.names), with), "add " + have.category.Name + "/" + with + " to " + have.list(), nil
	})
}

func nearerContradicts(l level) *fault.Kind {
	return attachment(fault.Kind{
		Name:  "tag.nearer-contradicts" + l.suffix,
		Short: "gives " + l.noun + " another zone or region tag than what they are in has",
		Long: `The nearest tag counts for the cloud provider; the CSI driver looks at hosts and what they are in, and does not see a tag on
a VM. So the two may disagree. Healing removes the tag.`,
		Object: l.object, Params: []fault.Param{category(), {Name: "to", Short: "name of the tag; without it, another one that there is", Type: fault.Text}},
		Reported: []string{"vsphere-csi-driver#966"},
	}, func(_ context.Context, c *fault.Call, have state) ([]string, string, error) {
		farther := c.Target.Zone
		if c.Params.Text("category") == "region" {
			farther = c.Target.Region
		}
		switch {
		case len(have.names) > 0:
			return nil, "", fault.Refuse("%s: already has a tag: %s", c.Target, have.list())
		case farther == "":
			return nil, "", fault.Refuse("%s: nothing that it is in has a tag of category %q that could be contradicted", c.Target, have.category.Name)
		}
		to := have.other(c.Params.Text("to"), farther)
		if to == farther {
			return nil, "", fault.Refuse("%s: is in %q, which is no contradiction", c.Target, to)
		}
		return []string{to}, "attach " + have.category.Name + "/" + to + " (is in " + farther + ")", nil
	})
}

// renamed is the original name of a category.
type renamed struct {
	ID  string `json:"id"`
	Was string `json:"was"`
	Is  string `json:"is"`
}

func categoryRenamed() *fault.Kind {
	return fault.New(fault.Kind{
		Name:  "tag.category-renamed",
		Short: "renames the tag category of zones or regions in vCenters",
		Long: `All tags stay where they are, in a category that no client looks for: to the cloud provider no node has a zone. Healing
gives the category its name back.`,
		Object: fault.VCenter, Aspect: "tags",
		Params: []fault.Param{category(), {Name: "to", Short: "the name; without it, the old one with -renamed", Type: fault.Text}},
	}, fault.Steps[renamed]{
		Plan: func(ctx context.Context, c *fault.Call) (r renamed, does string, err error) {
			ep, err := vsphere.At(c)
			if err != nil {
				return r, "", err
			}
			r.Was, r.Is = called(c), c.Params.Text("to")
			r.Is = cmp.Or(r.Is, r.Was+"-renamed")
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

// rename renames a category, unless it has the name or is gone.
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
