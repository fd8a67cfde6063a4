package tag

import (
	"context"
	"slices"

	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/sim/fault"
)

func moved(l level) *fault.Kind {
	return attachment(fault.Kind{
		Name:  "tag.moved" + l.suffix,
		Short: "gives " + l.noun + " the tag of another zone or region",
		Long: `As when somebody moves a cluster to another zone, with nodes in it: their labels are what Kubernetes has never expected to
change. A tag that there is none of is made, and deleted with the healing.`,
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
