package inspect

import (
	"slices"
	"strings"

	"github.com/vsphere-sandbox/vsphere-sandbox/internal/child"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/provider/config"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/sandbox/api"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/sandbox/explain"
)

// CCM is the state of the cloud controller manager, for explanations.
type CCM struct {
	// Replicas are the rows of its components.
	Replicas func() []api.Component
	// Cut reports whether the network path of a component to the API server is cut.
	Cut func(component string) bool
	// Log returns the log file of a component.
	Log func(component string) string
	// Args are the arguments of its program.
	Args func() []string
	// Config reads vsphere.conf as it does.
	Config func() (*config.Config, error)
}

// addTo adds the state to an explanation of a subject.
func (c *CCM) addTo(a *explain.Around, subject string) {
	for _, row := range c.Replicas() {
		if c.Cut(row.Name) {
			a.CCMCut = true
		}
		a.CCM = append(a.CCM, row)
		if row.Leader || len(a.CCMLog) == 0 {
			a.CCMLog = linesAbout(child.LogTail(c.Log(row.Name), 0), subject)
		}
	}
	a.Relabels = slices.ContainsFunc(c.Args(), func(arg string) bool {
		return arg == "--relabel-zones" || arg == "--relabel-zones=true"
	})
	if a.Config.Is, a.Config.Err = c.Config(); a.Config.Is != nil {
		a.Config.Is = a.Config.Is.Masked()
	}
}

// linesAbout returns the last lines of a log that contain a name.
func linesAbout(log, name string) (lines []string) {
	const most = 5
	for _, line := range slices.Backward(strings.Split(log, "\n")) {
		if strings.Contains(line, `"`+name+`"`) || strings.Contains(line, " "+name+" ") {
			if _, text, ok := strings.Cut(line, "] "); ok { // klog's header has the time and the place in the source
				line = text
			}
			if lines = append(lines, line); len(lines) == most {
				break
			}
		}
	}
	slices.Reverse(lines)
	return lines
}
