package images

import (
	"github.com/vsphere-sandbox/vsphere-sandbox/internal/cli/report"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/cluster/kind/images"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/cluster/kind/nodeimage"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/cluster/kind/runtime"
)

// explain gives an error its exit status: asked wrongly, or what this machine does not have.
func explain(err error) error {
	return report.Coded(err, report.Failure, map[string]int{
		images.Foreign: report.Usage, images.Broken: report.Usage,
		nodeimage.Missing: report.Prerequisite, nodeimage.Unknown: report.Prerequisite, nodeimage.Version: report.Prerequisite,
		runtime.Missing: report.Prerequisite, runtime.Stopped: report.Prerequisite, runtime.Denied: report.Prerequisite,
	})
}
