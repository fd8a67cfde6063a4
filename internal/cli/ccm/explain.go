package ccm

import (
	"github.com/vsphere-sandbox/vsphere-sandbox/internal/cli/report"
)

// Explain gives an error about a source its exit status: asked wrongly, or what this machine does not have.
func Explain(err error) error {
	return report.Coded(err, report.Usage, map[string]int{
		"go-missing": report.Prerequisite, "ccm-image-refused": report.Prerequisite, "ccm-build-failed": report.Failure,
	})
}
