package ccm

import (
	"errors"

	"github.com/vsphere-sandbox/vsphere-sandbox/internal/ccm"
	"github.com/vsphere-sandbox/vsphere-sandbox/internal/cli/report"
)

// Explain gives an error about a source its exit status: asked wrongly, or what this machine does not have.
func Explain(err error) error {
	var e *ccm.Error
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
	return &report.Error{Code: e.Code, Message: e.Message, Try: e.Try, Err: e.Err, Exit: exit}
}
