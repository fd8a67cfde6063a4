package sandbox

import (
	"fmt"
	"strings"

	"github.com/vsphere-sandbox/vsphere-sandbox/internal/child"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/event"
)

// notifyLight records what the kubelet of a light node would do, as the consequence of what its VM did last: in the log, as
// of any kubelet, and not among the components, of which there would be thousands.
func (n *nodes) notifyLight(m *machine, c child.Change) {
	n.mu.Lock()
	vm, component := m.vm, m.component
	n.mu.Unlock()
	if component == "" {
		component = "node/" + strings.ToLower(vm.Name)
	}
	e := event.Event{
		Plane:  event.PlaneSandbox,
		Object: event.Object{Kind: "Node", VCenter: vm.VCenter, Name: strings.TrimPrefix(component, "node/")},
	}
	switch c.State {
	case child.Started:
		e.Kind, e.Message = "child.started", component+": started, a light node"
	case child.Stopped:
		e.Kind, e.Message = "child.stopped", component+": stopped"
	case child.Exited:
		e.Level, e.Kind, e.Message = event.Error, "child.exited", fmt.Sprintf("%s: %v", component, c.Err)
	default:
		return
	}
	e.Cause = n.s.causes.OfProcess(c.State, func(o event.Event) bool { return o.Object.VCenter == vm.VCenter && o.Object.Name == vm.Name })
	n.s.log.Append(e)
}
