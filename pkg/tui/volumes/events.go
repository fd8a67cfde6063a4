package volumes

import (
	"strings"

	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/event"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/sandbox/api"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/sandbox/api/world"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/tui/fold"
)

// podEvent returns the newest event about the progress of a pod.
func (w *way) podEvent(pod string) (kind, message string) {
	e, ok := newest(w.s, func(e event.Event) bool {
		switch e.Kind {
		case "pod.created", "pod.scheduled", "pod.running", "pod.terminating":
			return e.Object.Kind == "Pod" && e.Object.Name == pod
		}
		return false
	})
	if !ok {
		return "", ""
	}
	return e.Kind, e.Message
}

// farBack is the number of events that are searched for the newest about a volume.
const farBack = 20000

// newest returns the newest event that f accepts.
func newest(s *fold.State, f func(event.Event) bool) (event.Event, bool) {
	events := s.World().Events()
	for i := len(events) - 1; i >= max(0, len(events)-farBack); i-- {
		if f(events[i]) {
			return events[i], true
		}
	}
	return event.Event{}, false
}

// lastEvent returns the newest event about a volume, its claim, its attachments or its pods.
func lastEvent(s *fold.State, v api.Volume) (event.Event, bool) {
	names := map[event.Object]bool{}
	add := func(kind, name string) {
		if name != "" {
			names[event.Object{Kind: kind, Name: name}] = true
		}
	}
	for _, name := range []string{v.Name, v.Handle, v.Claim} {
		add("Volume", name)
		add("PersistentVolume", name)
	}
	add("PersistentVolumeClaim", v.Claim)
	for _, p := range v.Pods {
		add("Pod", p)
	}
	attachment := v.Name + " at " // followed by the node
	for _, a := range world.Values[api.Attachment](s.World(), world.Attachment) {
		if a.Volume == v.Name {
			add("VolumeAttachment", a.Name)
		}
	}
	return newest(s, func(e event.Event) bool {
		if o := e.Object; v.VCenter != "" && o.VCenter != "" && o.VCenter != v.VCenter {
			return false
		}
		return names[event.Object{Kind: e.Object.Kind, Name: e.Object.Name}] ||
			e.Object.Kind == "VolumeAttachment" && strings.HasPrefix(e.Object.Name, attachment)
	})
}
