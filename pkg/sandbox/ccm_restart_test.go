package sandbox

import (
	"context"
	"slices"
	"testing"

	corev1 "k8s.io/api/core/v1"

	"github.com/vsphere-sandbox/vsphere-sandbox/internal/child"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/event"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/sandbox/cloudconfig"
)

// A change that needs a restart is given one, once, however many Secrets carry the Event; without a change there is none.
func TestConfigNeedsRestart(t *testing.T) {
	s := newSandbox(t, "single")
	s.components.Command = []string{"-test.run=^$", "--"} // what is started in its place does nothing
	started := make(chan struct{})
	old := &replica{name: ccmComponent}
	old.child = child.Start(child.Spec{Name: ccmComponent, Path: "/bin/sleep", Args: []string{"60"}}, func(ch child.Change) {
		if ch.State == child.Started {
			close(started)
			return
		}
		s.components.Note(ch, event.Object{Kind: "Component", Name: ccmComponent}, s.ccms.restartCause())
	})
	t.Cleanup(func() {
		if err := s.stopCCM(context.Background()); err != nil {
			t.Error(err)
		}
	})
	s.ccms.runs, s.ccms.list = CCM{}.withDefaults(), []*replica{old}
	<-started
	needs := &corev1.Event{
		Source: corev1.EventSource{Component: ccmEventSource}, Type: corev1.EventTypeWarning, Reason: reasonNeedsRestart, Message: "vcenter.eu",
		InvolvedObject: corev1.ObjectReference{Kind: "Secret", Name: cloudconfig.Secret},
	}
	s.clusterEvent(needs)
	s.config.Changed()
	said := s.log.Last() + 1
	s.clusterEvent(needs)
	s.clusterEvent(needs)

	var restart uint64
	var kinds []string
	for after := said; !slices.Contains(kinds, "child.started"); {
		events, _, err := s.log.Wait(t.Context(), after, 1)
		if err != nil {
			t.Fatal(err)
		}
		e := events[0]
		after = e.Seq
		want := restart
		switch e.Kind {
		case "ccm.config-needs-restart":
			continue
		case "ccm.restart":
			restart, want = e.Seq, said
		}
		kinds = append(kinds, e.Kind)
		if e.Cause != want {
			t.Errorf("%s: cause %d, want %d", e.Kind, e.Cause, want)
		}
	}
	if want := []string{"ccm.restart", "child.stopped", "child.started"}; !slices.Equal(kinds, want) {
		t.Errorf("events %v, want %v", kinds, want)
	}
}
