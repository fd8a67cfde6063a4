package timeline

import (
	"slices"
	"strings"

	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/event"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/sandbox/api"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/sandbox/api/world"
)

// subjectOf returns the subject of an event.
func subjectOf(o event.Object) (api.Subject, bool) {
	if o.Name == "" {
		return api.Subject{}, false
	}
	switch o.Kind {
	case "VM":
		return api.Subject{Kind: "vm", VCenter: o.VCenter, Name: o.Name}, true
	case "Host":
		return api.Subject{Kind: "host", VCenter: o.VCenter, Name: o.Name}, true
	case "Node":
		return api.Subject{Kind: "node", Name: o.Name}, true
	case "VCenter":
		return api.Subject{Kind: "vcenter", Name: o.Name}, true
	case "Component":
		return api.Subject{Kind: "component", Name: o.Name}, true
	case "Volume":
		return api.Subject{Kind: "volume", VCenter: o.VCenter, Name: o.Name}, true
	case "PersistentVolume", "PersistentVolumeClaim":
		return api.Subject{Kind: "volume", Name: o.Name}, true
	case "VolumeAttachment":
		volume, _, ok := strings.Cut(o.Name, " at ") // the name of its volume, and the node's
		return api.Subject{Kind: "volume", Name: volume}, ok
	}
	return api.Subject{}, false
}

// about returns a func that reports whether an event is about a subject. A volume has a different name on each plane.
func about(w *world.World, s api.Subject) func(event.Event) bool {
	names := []string{s.Name}
	if s.Kind == "volume" {
		for _, row := range w.Rows(world.Volume) {
			if all := row.Names(); row.Key == s.Name || slices.Contains(all, s.Name) {
				names = append(all, row.Key)
			}
		}
	}
	return func(e event.Event) bool {
		is, ok := subjectOf(e.Object)
		return ok && is.Kind == s.Kind && slices.Contains(names, is.Name) &&
			(is.VCenter == "" || s.VCenter == "" || is.VCenter == s.VCenter)
	}
}

// objectName formats an object in a row: us/worker-1.
func objectName(o event.Object) string {
	if o.VCenter != "" && o.VCenter != o.Name {
		return strings.TrimSuffix(o.VCenter+"/"+o.Name, "/")
	}
	return o.Name
}
