package tag

import (
	"context"
	"slices"

	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/sim/fault"
)

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
