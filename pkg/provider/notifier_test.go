package provider

import (
	"fmt"
	"testing"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/client-go/tools/record"
)

// A vCenter that comes and goes does not suppress events about the configuration on the same Secret, and events are not
// aggregated.
func TestEventsAreNotHeldBack(t *testing.T) {
	c := record.NewEventCorrelatorWithOptions(correlatorOptions())
	send := func(reason, message string) {
		t.Helper()
		e := &corev1.Event{Type: corev1.EventTypeWarning, Reason: reason, Message: message}
		e.InvolvedObject = corev1.ObjectReference{Kind: "Secret", Namespace: "kube-system", Name: "creds"}
		got, err := c.EventCorrelate(e)
		if err != nil || got.Skip || got.Event.Message != message {
			t.Fatalf("%s: %+v, %v", message, got, err)
		}
		c.UpdateState(got.Event)
	}
	for i := range 90 {
		send(ReasonUnreachable, fmt.Sprintf("vCenter %d: out", i))
		send(ReasonConnected, "vCenter eu: connected")
	}
	send(ReasonConfigNeedsRestart, "takes effect at the next start")
}
