package sandbox

import (
	"context"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/cluster/deploy"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/event"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/ground/kind"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/sandbox/api"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/sandbox/pods"
)

// runsInPods returns a sandbox whose components are pods, of which nothing is kept in files.
func runsInPods(t *testing.T) *Sandbox {
	t.Helper()
	s := newSandbox(t, "single")
	s.standOn(kind.New(kind.Config{CCM: kind.CCM{Pods: true}}))
	if err := s.background.End(t.Context(), pods.Group); err != nil { // so that no watch follows them
		t.Fatal(err)
	}
	s.background.Run(pods.Group, func(context.Context) {})
	if err := s.background.End(t.Context(), pods.Group); err != nil {
		t.Fatal(err)
	}
	return s
}

// Pods come and go; components and the log say so as of processes.
func TestPodChanged(t *testing.T) {
	s := runsInPods(t)
	began := time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)
	rows := func() []api.Component {
		all := s.components.All()
		for i := range all {
			all[i].Log = ""
		}
		return all
	}
	object := event.Object{Kind: "Component", Name: "ccm"}
	for _, tc := range []struct {
		name   string
		is     deploy.Change
		row    *api.Component // but for what is about CCMs
		events []event.Event
		health bool
	}{
		{
			name: "is to come", is: deploy.Change{Component: "ccm", State: deploy.Waiting, Reason: "ContainerCreating"},
			row: &api.Component{Name: "ccm", State: "starting", Message: "ccm: ContainerCreating"},
		},
		{
			name: "runs", is: deploy.Change{Component: "ccm", State: deploy.Running, Started: began, Pod: "ccm-x", Node: "cp-1"},
			row:    &api.Component{Name: "ccm", State: "running", Since: began},
			events: []event.Event{{Plane: event.PlaneSandbox, Level: event.Info, Kind: "child.started", Object: object, Message: "ccm: started, in pod ccm-x on node cp-1"}},
		},
		{
			name: "is ready", is: deploy.Change{Component: "ccm", State: deploy.Running, Ready: true, Started: began, Pod: "ccm-x", Node: "cp-1"},
			row:    &api.Component{Name: "ccm", State: "running", Since: began},
			events: []event.Event{{Plane: event.PlaneSandbox, Level: event.Info, Kind: "ccm.healthy", Object: object, Message: "ccm: healthy"}},
			health: true,
		},
		{
			name: "the same again", is: deploy.Change{Component: "ccm", State: deploy.Running, Ready: true, Started: began, Pod: "ccm-x", Node: "cp-1"},
			row: &api.Component{Name: "ccm", State: "running", Since: began}, health: true,
		},
		{
			name: "is not ready", is: deploy.Change{Component: "ccm", State: deploy.Running, Started: began, Pod: "ccm-x", Node: "cp-1"},
			row:    &api.Component{Name: "ccm", State: "running", Since: began},
			events: []event.Event{{Plane: event.PlaneSandbox, Level: event.Warning, Kind: "ccm.unhealthy", Object: object, Message: "ccm: not ready"}},
		},
		{
			name: "another process, and nobody saw the end of the first",
			is:   deploy.Change{Component: "ccm", State: deploy.Running, Started: began.Add(time.Minute), Restarts: 1, Pod: "ccm-x", Node: "cp-1"},
			row:  &api.Component{Name: "ccm", State: "running", Restarts: 1, Since: began.Add(time.Minute)},
			events: []event.Event{
				{Plane: event.PlaneSandbox, Level: event.Error, Kind: "child.exited", Object: object, Message: "ccm: ended"},
				{Plane: event.PlaneSandbox, Level: event.Info, Kind: "child.started", Object: object, Message: "ccm: started, in pod ccm-x on node cp-1"},
			},
		},
		{
			name: "has ended", is: deploy.Change{Component: "ccm", State: deploy.Exited, ExitCode: 2, Reason: "CrashLoopBackOff", Restarts: 2},
			row:    &api.Component{Name: "ccm", State: "backing-off", Message: "ccm: exit status 2: CrashLoopBackOff", Restarts: 2, Since: began.Add(time.Minute)},
			events: []event.Event{{Plane: event.PlaneSandbox, Level: event.Error, Kind: "child.exited", Object: object, Message: "ccm: exit status 2: CrashLoopBackOff"}},
		},
		{
			name: "is gone", is: deploy.Change{Component: "ccm", State: deploy.Gone},
			events: []event.Event{{Plane: event.PlaneSandbox, Level: event.Info, Kind: "child.stopped", Object: object, Message: "ccm: its pod is gone"}},
		},
	} {
		before := s.log.Last()
		s.pods.Changed(tc.is)
		var want []api.Component
		if tc.row != nil {
			want = []api.Component{*tc.row}
		}
		ignore := cmpopts.IgnoreFields(api.Component{}, "Source", "Version", "Digest", "Health", "Leader", "PID")
		if tc.row != nil && tc.row.Since.IsZero() {
			ignore = cmpopts.IgnoreFields(api.Component{}, "Source", "Version", "Digest", "Health", "Leader", "PID", "Since")
		}
		if diff := cmp.Diff(want, rows(), ignore, cmpopts.EquateEmpty()); diff != "" {
			t.Errorf("%s: rows (-want +got):\n%s", tc.name, diff)
		}
		t.Run(tc.name, func(t *testing.T) { requireEvents(t, s.log, before, tc.events...) })
		if s.ccm.Has("ccm") != (tc.row != nil) {
			t.Fatalf("%s: %d cloud controller managers", tc.name, s.ccm.Count())
		}
		if list := s.components.Rows(); len(list) == 1 && (list[0].Health == "healthy") != tc.health {
			t.Errorf("%s: health %q", tc.name, list[0].Health)
		}
		if _, ok := s.pods.Find("ccm"); ok != (tc.row != nil) {
			t.Errorf("%s: found as a pod: %t", tc.name, ok)
		}
	}
}

// What is no cloud controller manager is a component, and not among them.
func TestPodOfTheDriver(t *testing.T) {
	s := runsInPods(t)
	s.pods.Changed(deploy.Change{Component: "csi-provisioner", State: deploy.Running, Ready: true, Started: time.Now()})
	if rows := s.components.All(); len(rows) != 1 || rows[0].State != "running" || s.ccm.Count() > 0 {
		t.Errorf("%+v, %d cloud controller managers", rows, s.ccm.Count())
	}
}
