package tui

import (
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/tui/calls"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/tui/faults"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/tui/intent"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/tui/overview"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/tui/panel"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/tui/scenario"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/tui/timeline"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/tui/volumes"
)

// newScreens returns the screens, in the order of their keys.
func newScreens() [intent.Screens]panel.Panel {
	return [intent.Screens]panel.Panel{
		intent.Overview: overview.New(),
		intent.Timeline: timeline.New(),
		intent.Volumes:  volumes.New(),
		intent.Faults:   faults.New(),
		intent.Calls:    calls.New(),
		intent.Scenario: scenario.New(),
	}
}
