package images

import (
	"errors"

	"github.com/vsphere-sandbox/vsphere-sandbox/internal/cli/report"
	"github.com/vsphere-sandbox/vsphere-sandbox/internal/coded"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/cluster/kind/images"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/cluster/kind/nodeimage"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/cluster/kind/runtime"
)

// explain gives an error its exit status: asked wrongly, or what this machine does not have.
func explain(err error) error {
	var e *coded.Error
	if !errors.As(err, &e) {
		return err
	}
	exit := report.Failure
	switch e.Code {
	case images.Foreign, images.Broken:
		exit = report.Usage
	case nodeimage.Missing, nodeimage.Unknown, nodeimage.Version, runtime.Missing, runtime.Stopped, runtime.Denied:
		exit = report.Prerequisite
	}
	return report.Coded(e, exit)
}
