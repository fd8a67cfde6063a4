package ccm

import (
	"errors"

	"github.com/vsphere-sandbox/vsphere-sandbox/internal/cli/report"
	"github.com/vsphere-sandbox/vsphere-sandbox/internal/coded"
)

// Explain gives an error about a source its exit status: asked wrongly, or what this machine does not have.
func Explain(err error) error {
	var e *coded.Error
	if !errors.As(err, &e) {
		return err
	}
	exit := report.Usage
	switch e.Code {
	case "go-missing", "ccm-image-refused":
		exit = report.Prerequisite
	case "ccm-build-failed":
		exit = report.Failure
	}
	return report.Coded(e, exit)
}
