package vcenter

import (
	"errors"

	"github.com/vsphere-sandbox/vsphere-sandbox/internal/cli/report"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/sim"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/topology"
)

// open reads the saved inventories.
func (o *upOptions) open() (*topology.Topology, error) {
	for _, dir := range o.load {
		saved, err := sim.OpenSaved(dir)
		var damaged *sim.DamagedError
		switch {
		case errors.As(err, &damaged):
			return nil, &report.Error{Code: "damaged-folder", Message: err.Error(), Try: damaged.Try(), Exit: report.Usage}
		case err != nil:
			return nil, &report.Error{Code: "unreadable-folder", Message: "--load: " + err.Error(), Try: "vsphere-sandbox vcenter save VCENTER FOLDER, which makes one", Exit: report.Usage}
		}
		o.saved = append(o.saved, saved)
	}
	t, err := sim.TopologyOf(o.saved...)
	if err != nil {
		return nil, report.UsageError(upCommand+" --load "+o.load[0]+", and the other as another sandbox, with --name", "--load: %v", err)
	}
	return t, nil
}
