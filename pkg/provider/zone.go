package provider

import (
	"errors"
	"fmt"
	"strings"

	"k8s.io/apimachinery/pkg/util/validation"

	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/provider/inventory"
)

// ErrTagName reports that the name of a region or zone tag is not a valid label value.
var ErrTagName = errors.New("cannot be a label")

// zone returns the region and zone of vm. It refuses tag names that are not valid label values: the API server would
// reject the node as a whole, forever, without naming the tag.
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
