package sandbox

import (
	"strings"

	corev1 "k8s.io/api/core/v1"

	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/event"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/sandbox/causality"
)

// reasonNeedsRestart is the reason of the Event by which our provider says that a change of its configuration waits for
// its next start.
const reasonNeedsRestart = "ConfigNeedsRestart"

// clusterEvent copies the Events that tell of the cloud provider's own doings. Those of others are many, and kubectl
// shows them.
func (s *Sandbox) clusterEvent(e *corev1.Event) {
	if e.Source.Component != ccmEventSource && e.ReportingController != ccmEventSource {
		s.storage.Warning(e)
		return
	}
	copied := event.Event{
		Plane: event.PlaneKubernetes, Level: event.Info, Kind: "ccm." + causality.Kebab(e.Reason),
		Object:  event.Object{Kind: e.InvolvedObject.Kind, Name: e.InvolvedObject.Name},
		Message: e.Message,
	}
	if e.Type == corev1.EventTypeWarning {
		copied.Level = event.Warning
	}
	// What is told of a vCenter is told on the Secret with its credentials, for want of an object of its own.
	if vc := s.subject(e.Message); vc != "" {
		copied.Object = event.Object{Kind: "VCenter", VCenter: vc, Name: vc}
	}
	copied.Cause = s.causes.OfCCMEvent(copied)
	seq := s.log.Append(copied)
	if e.Reason == reasonNeedsRestart {
		s.configNeedsRestart(seq)
	}
}

// subject returns the vCenter that a message begins with, "" when it does not: "vCenter eu (127.0.0.12): connected".
func (s *Sandbox) subject(message string) string {
	for _, vc := range s.topology().Spec.VCenters {
		if strings.HasPrefix(message, "vCenter "+vc.Name+" (") {
			return vc.Name
		}
	}
	return ""
}
