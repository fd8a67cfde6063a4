package sandbox

import (
	"testing"

	programs "github.com/vsphere-sandbox/vsphere-sandbox/internal/ccm"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/cluster/deploy"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/ground/kind"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/sandbox/api"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/sandbox/ccm"
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
		"program":  {true, CCM{Program: programs.Program{Path: "/bin/ccm", Source: "./ccm"}}, false},
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

// The real program waits for real vCenters as long as the sandbox does.
func TestCallTimeout(t *testing.T) {
	o := idle(t).opts
	if s := New(o); s.ccm.(*ccm.Processes).Args != nil || s.csi.Args != nil {
		t.Error("simulated vCenters")
	}
	o.Real = &Real{}
	if s := New(o); len(s.ccm.(*ccm.Processes).Args) != 1 || len(s.csi.Args) != 1 || s.ccm.(*ccm.Processes).StartTime != bootTimeout {
		t.Errorf("%q", s.csi.Args)
	}
}

// The host of a vCenter is the one that pods reach, as soon as the ground has pods.
func TestHostOfPods(t *testing.T) {
	s := withVCenters(t, "single")
	s.opts.CSI.Enabled = true
	s.standOn(kind.New(kind.Config{}))
	name, listens := s.vcenters[0].Name(), s.vcenters[0].Host()
	if got := s.config.Host(name); got != listens {
		t.Errorf("before there are pods: %s, want %s", got, listens)
	}
	s.pods = newPods(s, nil, nil)
	s.pods.reach([]deploy.Reached{{Name: name, Host: "10.96.0.40", Port: 443}})
	if got := s.config.Host(name); got != "10.96.0.40" || s.config.Driver.Host(name) != got {
		t.Errorf("of pods: %s", got)
	}
}
