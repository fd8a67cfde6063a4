package sandbox

import (
	"testing"

	"github.com/vsphere-sandbox/vsphere-sandbox/internal/program"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/ground/kind"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/sandbox/api"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/sandbox/ccm"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/sandbox/vcenters/real"
)

// A cloud controller manager runs as pods if the ground has pods and there is an image of it. Otherwise it is a process.
func TestCCMRunsAsPods(t *testing.T) {
	for name, tc := range map[string]struct {
		kind bool
		ccm  CCM
		want bool
	}{
		"embedded": {false, CCM{}, false},
		"kind":     {true, CCM{}, true},
		"program":  {true, CCM{Program: program.Program{Path: "/bin/ccm", Source: "./ccm"}}, false},
	} {
		o := idle(t).opts
		o.CCM = tc.ccm
		if tc.kind {
			o.Cluster.Kind = &kind.Options{}
		}
		s := New(o)
		if _, got := s.ccm.(*ccm.Pods); got != tc.want || (s.config.Pods != nil) != tc.want {
			t.Errorf("%s: as pods: %t, configured as pods: %t", name, got, s.config.Pods != nil)
		}
	}
}

// Nothing changes a cloud controller manager before the sandbox is ready, or where it has none.
func TestCCMNotReady(t *testing.T) {
	s := newSandbox(t, "single")
	c := serve(t, s)
	_, err := c.SwapCCM(t.Context(), api.CCMRequest{})
	requireCode(t, "swap during the boot", err, "unavailable")
	_, err = c.RestartCCM(t.Context())
	requireCode(t, "restart during the boot", err, "unavailable")
	s.opts.VCentersOnly = true
	s.standOn(s.newGround())
	_, err = c.SwapCCM(t.Context(), api.CCMRequest{})
	requireCode(t, "vCenters alone", err, "conflict")
	if events, _ := s.log.Read(0, 0); len(events) > 0 {
		t.Errorf("something was done: %+v", events)
	}
}

func TestMetricsOfNothing(t *testing.T) {
	c := serve(t, newSandbox(t, "single"))
	_, err := c.Metrics(t.Context(), "node/x")
	requireCode(t, "a kubelet", err, "not-found")
	_, err = c.Metrics(t.Context(), "ccm")
	requireCode(t, "no cloud controller manager yet", err, "not-found")
	_, err = c.Metrics(t.Context(), "control-plane")
	requireCode(t, "no API server yet", err, "unavailable")
}

// This project's programs wait for real vCenters as long as the sandbox does.
func TestArgsOfSource(t *testing.T) {
	o := idle(t).opts
	if s := New(o); s.ccm.(*ccm.Processes).Args != nil || s.csi.Args != nil {
		t.Error("simulated vCenters")
	}
	s := newOn(o, real.New(&real.Options{}))
	if p := s.ccm.(*ccm.Processes); len(p.Args) != 1 || len(s.csi.Args) != 1 || p.StartTime != s.source.StepTime() {
		t.Errorf("%q, %q, %s", p.Args, s.csi.Args, p.StartTime)
	}
}
