package scenario

import (
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/event"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/sandbox/api/world"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/scenario/expect"
)

// always is a tracker that only reports every change.
type always struct{}

func (always) Concerns(world.Kind) bool           { return true }
func (always) Look(*expect.View) expect.Finding   { return expect.Finding{} }
func (always) Was(*expect.View) []string          { return nil }
func (always) Related(*expect.View) []event.Event { return nil }
