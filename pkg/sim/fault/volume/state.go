package volume

import (
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/sim"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/sim/fault"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/sim/fault/internal/vsphere"
)

// target is the volume that a call is about, as it is now; false when CNS knows none.
func target(c *fault.Call) (ep *fault.Endpoint, v sim.Volume, known bool, err error) {
	if ep, err = vsphere.At(c); err != nil {
		return nil, v, false, err
	}
	v, known = ep.Sim.Volume(c.Target.ID)
	return ep, v, known, nil
}

// lost is the refusal of a volume that is not there any more.
func lost(c *fault.Call) error {
	return fault.Refuse("volume %q: CNS has none of its id", c.Target.Name)
}
