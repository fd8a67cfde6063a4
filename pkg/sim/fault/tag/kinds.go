package tag

import "github.com/vsphere-sandbox/vsphere-sandbox/pkg/sim/fault"

// level is what tags are attached to.
type level struct {
	object fault.Object
	suffix string // of the names of kinds
	noun   string
}

// levels lists them, outermost first.
func levels() []level {
	return []level{
		{fault.Datacenter, "", "datacenters"},
		{fault.Cluster, "-cluster", "compute clusters"},
		{fault.Host, "-host", "hosts"},
		{fault.VM, "-vm", "VMs"},
	}
}

// Kinds are the faults of tags, in the order of the catalogue.
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

// category is the parameter of all kinds: which of the two categories.
func category() fault.Param {
	return fault.Param{Name: "category", Short: "which tags", Type: fault.Text, Default: "zone", Choices: []string{"zone", "region"}}
}

// called is the name of the category that the parameter means.
func called(c *fault.Call) string {
	if c.Params.Text("category") == "region" {
		return c.Ground.Categories.Region
	}
	return c.Ground.Categories.Zone
}
