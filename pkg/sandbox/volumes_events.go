package sandbox

import (
	"strings"

	corev1 "k8s.io/api/core/v1"

	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/event"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/sandbox/causality"
)

// troubles are the kinds of objects whose warnings are copied: what keeps volumes from pods is told on them.
var troubles = map[string]string{
	"Pod": "pod.", "PersistentVolumeClaim": "claim.", "PersistentVolume": "volume.", "VolumeSnapshot": "snapshot.", "VolumeSnapshotContent": "snapshot.",
}

// mostComplaints bounds what is remembered of them: objects go, and nobody tells that their Events have.
const mostComplaints = 4096

// storageEvent copies what the attach-detach controller, the scheduler and the sidecars complain of. The same words again
// are no news, however often they are said.
func (s *Sandbox) storageEvent(e *corev1.Event) {
	prefix := troubles[e.InvolvedObject.Kind]
	if prefix == "" || e.Type != corev1.EventTypeWarning {
		return
	}
	key := e.InvolvedObject.Kind + "/" + e.InvolvedObject.Namespace + "/" + e.InvolvedObject.Name + " " + e.Reason
	s.mu.Lock()
	same := s.complaints[key] == e.Message
	if s.complaints == nil || len(s.complaints) >= mostComplaints {
		s.complaints = map[string]string{} // at worst something is told twice
	}
	s.complaints[key] = e.Message
	s.mu.Unlock()
	if same {
		return
	}
	if b := s.volumeBook(); b != nil {
		b.Complaint(e)
	}
	name := e.InvolvedObject.Name
	if e.InvolvedObject.Namespace != "" {
		name = e.InvolvedObject.Namespace + "/" + name
	}
	s.log.Append(event.Event{
		Plane: event.PlaneKubernetes, Level: event.Warning, Kind: prefix + strings.TrimPrefix(causality.Kebab(e.Reason), strings.Replace(prefix, ".", "-", 1)),
		Object: event.Object{Kind: e.InvolvedObject.Kind, Name: name}, Message: e.Message,
		Cause: s.causes.OfComplaint(e.InvolvedObject.Kind, name),
	})
}
