package up

import (
	"github.com/spf13/cobra"

	"github.com/vsphere-sandbox/vsphere-sandbox/internal/cli/csi"
	"github.com/vsphere-sandbox/vsphere-sandbox/internal/cli/report"
)

// completeNone leaves volumes out where there is no cloud controller manager: the CSI driver reads the same vsphere.conf,
// which is not there then.
func (o *options) completeNone(cmd *cobra.Command) error {
	if !o.ccm.None() {
		return nil
	}
	if !cmd.Flags().Changed("csi") {
		o.csi.Driver = csi.Off
	}
	if o.csi.Driver != csi.Off {
		return report.UsageError("vsphere-sandbox up --ccm none --csi off", "--ccm none: there is no vsphere.conf for a CSI driver then")
	}
	return nil
}
