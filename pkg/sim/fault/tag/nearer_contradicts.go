package tag

import (
	"context"

	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/sim/fault"
)

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
			return nil, "", fault.Refuse("%s: has a tag of its own: %s", c.Target, have.list())
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
