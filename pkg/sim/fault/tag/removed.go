package tag

import (
	"context"

	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/sim/fault"
)

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
