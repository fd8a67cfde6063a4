package provider

import (
	"errors"
	"fmt"
	"strings"

	"k8s.io/apimachinery/pkg/util/validation"

	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/provider/inventory"
)

// ErrTagName says that the name of a region's or zone's tag cannot be the value of a label.
var ErrTagName = errors.New("cannot be a label")

// zone returns where vm runs, and refuses tag names that cannot be label values: the API server would refuse the node
// as a whole, without end and without saying which tag it is.
func (i instances) zone(vm *inventory.VM) (inventory.Zone, error) {
	z, err := i.inv.Zone(vm)
	if err != nil || i.choices.anyTagName {
		return z, err
	}
	for _, t := range [...]struct{ category, tag string }{{i.cfg.Labels.Region, z.Region}, {i.cfg.Labels.Zone, z.Zone}} {
		if problems := validation.IsValidLabelValue(t.tag); len(problems) > 0 {
			return z, fmt.Errorf("vm %s: tag %q of category %q %w: %s", vm, t.tag, t.category, ErrTagName, strings.Join(problems, "; "))
		}
	}
	return z, nil
}
