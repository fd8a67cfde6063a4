package kube_test

import (
	"errors"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/sim/fault"
)

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
