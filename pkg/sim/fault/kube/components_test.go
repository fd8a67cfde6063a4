package kube_test

import (
	"errors"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/sim/fault"
)

// It is killed whenever it has come up, until that is healed; then it is started again.
func TestCrashLoop(t *testing.T) {
	r := newRig(t)
	lease := r.inject("ccm.crash-loop", nil)
	deadline := time.After(10 * time.Second)
	for tick := time.NewTicker(time.Millisecond); len(r.processes.since(0)) < 4; {
		select {
		case <-tick.C:
		case <-deadline:
			t.Fatalf("killed %d times", len(r.processes.since(0)))
		}
	}
	r.heal(lease.ID)
	calls := r.processes.since(0)
	last := len(calls) - 1
	if calls[last] != "restart ccm" || slices.ContainsFunc(calls[:last], func(c string) bool { return c != "kill ccm" }) {
		t.Errorf("calls %q", calls)
	}
	r.processes.started("ccm") // which is harmless by now
	if now := r.processes.since(0); len(now) != len(calls) {
		t.Errorf("calls after the end: %q", now)
	}
	r.processes.running["ccm"] = false
	_ = r.refused("ccm.crash-loop", nil)
}

// One that is given a while to live gets it.
func TestCrashLoopAfterAWhile(t *testing.T) {
	r := newRig(t)
	lease := r.inject("ccm.crash-loop", kv("after", "1h"))
	r.heal(lease.ID)
	if diff := cmp.Diff([]string{"kill ccm", "restart ccm"}, r.processes.since(0)); diff != "" {
		t.Error(diff)
	}
}

// Of several it is the leader that is meant, or the one that is named.
func TestWhich(t *testing.T) {
	for name, tc := range map[string]struct{ replica, leader, want string }{
		"leader":        {"", "ccm-2", "kill ccm-2"},
		"leader, first": {"leader", "ccm", "kill ccm"},
		"nobody leads":  {"", "", ""},
		"first":         {"1", "ccm-2", "kill ccm"},
		"second":        {"2", "", "kill ccm-2"},
		"third of two":  {"3", "ccm", ""},
		"none":          {"0", "ccm", ""},
		"no number":     {"ccm-2", "ccm", ""},
		"negative":      {"-1", "ccm", ""},
	} {
		t.Run(name, func(t *testing.T) {
			r := newRig(t)
			r.processes.extra, r.processes.leader, r.processes.running["ccm-2"] = 1, tc.leader, true
			params := kv()
			if tc.replica != "" {
				params["replica"] = tc.replica
			}
			if tc.want == "" {
				if refusal := r.refused("ccm.killed", params); refusal.Message == "" {
					t.Error("no reason")
				}
				return
			}
			r.inject("ccm.killed", params)
			if diff := cmp.Diff([]string{tc.want}, r.processes.since(0)); diff != "" {
				t.Error(diff)
			}
		})
	}
}

// Healing works if a replica is gone.
func TestHealOfWhatIsGone(t *testing.T) {
	for _, kind := range []string{
		"ccm.paused", "ccm.api-unreachable", "ccm.crash-loop", "node.kubelet-paused", "node.api-unreachable",
		"csi.paused", "csi.api-unreachable", "csi.crash-loop", "node.link-withheld", "node.csi-unregistered",
	} {
		t.Run(kind, func(t *testing.T) {
			r := newRig(t)
			lease := r.inject(kind, nil)
			r.processes.mu.Lock()
			clear(r.processes.running)
			r.processes.mu.Unlock()
			r.heal(lease.ID)
		})
	}
}

// A process of the driver is killed until that is healed, and then started.
func TestDriverCrashLoop(t *testing.T) {
	r := newRig(t)
	lease := r.inject("csi.crash-loop", kv("after", "1h"))
	r.heal(lease.ID)
	if diff := cmp.Diff([]string{"kill csi-attacher", "restart csi-attacher"}, r.processes.since(0)); diff != "" {
		t.Error(diff)
	}
	r.processes.running["csi-attacher"] = false
	_ = r.refused("csi.crash-loop", nil)
}

// What is no process of the driver is refused, and each of them has its own leases.
func TestDriverOnly(t *testing.T) {
	r := newRig(t)
	for kind := range map[string]bool{"csi.killed": true, "csi.paused": true, "csi.api-unreachable": true, "csi.token-revoked": true, "csi.crash-loop": true} {
		_, err := r.Inject(t.Context(), fault.Request{Kind: kind, On: fault.Selector{Names: []string{"ccm"}}})
		if refusal := (*fault.Refusal)(nil); !errors.As(err, &refusal) || !strings.Contains(err.Error(), "csi-provisioner") {
			t.Errorf("%s of ccm: %v", kind, err)
		}
	}
	r.inject("csi.paused", nil)
	if refusal := r.refused("csi.crash-loop", nil); refusal.Code != "conflict" {
		t.Errorf("%+v", refusal)
	}
	r.inject("ccm.paused", nil)
}
