package fault

import (
	"fmt"
	"strings"

	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/event"
)

// note appends an event about the lease: "f3: vm.power-off on us/worker-1 for 30s".
func (e *Engine) note(l *lease, cause uint64, level event.Level, kind, more string) uint64 {
	about := event.Object{Kind: "Lease", Name: l.ID}
	if len(l.Targets) == 1 {
		about = l.Targets[0].Target.Event()
	}
	message := fmt.Sprintf("%s: %s on %s%s", l.ID, l.Kind, l.targets(), more)
	if strings.HasPrefix(more, l.ID+": ") {
		message = more
	}
	return e.ground.Events.Append(event.Event{Plane: event.PlaneSandbox, Level: level, Kind: kind, Object: about, Cause: cause, Message: message})
}

// targets lists the names of the targets if they are few.
func (l *lease) targets() string {
	const many = 5
	var names []string
	for i := range l.Targets {
		if i == many && len(l.Targets) > many+1 {
			names = append(names, fmt.Sprintf("%d more", len(l.Targets)-many))
			break
		}
		names = append(names, l.Targets[i].Target.String())
	}
	return strings.Join(names, ", ")
}

// noun is the name of the kind in errors.
func (o Object) noun() string {
	switch o {
	case VM:
		return "VM"
	case VCenter:
		return "vCenter"
	case Cluster:
		return "compute cluster"
	}
	return strings.ToLower(string(o))
}

// plural is its plural.
func (o Object) plural() string {
	if strings.HasSuffix(o.noun(), "s") {
		return o.noun()
	}
	return o.noun() + "s"
}

// lister is the command that lists such objects; empty if there is no such command.
func (o Object) lister() string {
	switch o {
	case VM, Host, Datacenter, Datastore, Volume, Zone, VCenter, Node:
		return "vsphere-sandbox get " + strings.ToLower(string(o)) + "s"
	case Component:
		return "vsphere-sandbox status"
	}
	return ""
}
