package host_test

import (
	"testing"
	"testing/synctest"
	"time"

	"github.com/vmware/govmomi/object"
	"github.com/vmware/govmomi/simulator"
	"github.com/vmware/govmomi/vim25/types"

	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/sim/host"
)

// TestAutomation: what the cluster's configuration says, and the VM's own that overrides it.
func TestAutomation(t *testing.T) {
	yes, no := true, false
	vm := ref{Type: "VirtualMachine", Value: "vm-1"}
	own := func(enabled *bool, b types.DrsBehavior) []types.ClusterDrsVmConfigInfo {
		return []types.ClusterDrsVmConfigInfo{{Key: vm, Enabled: enabled, Behavior: b}}
	}
	for _, tc := range []struct {
		name     string
		enabled  *bool
		behavior types.DrsBehavior
		own      []types.ClusterDrsVmConfigInfo
		want     bool
	}{
		{"nothing is said", nil, "", nil, false},
		{"enabled", &yes, "", nil, true},
		{"disabled", &no, types.DrsBehaviorFullyAutomated, nil, false},
		{"recommends only", &yes, types.DrsBehaviorPartiallyAutomated, nil, false},
		{"not this VM", &yes, "", own(&no, ""), false},
		{"this VM by hand", &yes, "", own(nil, types.DrsBehaviorManual), false},
		{"this VM alone", &yes, types.DrsBehaviorManual, own(nil, types.DrsBehaviorFullyAutomated), true},
		{"this VM as all", &yes, types.DrsBehaviorManual, own(&yes, ""), false},
		{"this VM in a cluster without", &no, "", own(&yes, types.DrsBehaviorFullyAutomated), false},
	} {
		t.Run(tc.name, func(t *testing.T) {
			cluster := new(simulator.ClusterComputeResource)
			cluster.Self = ref{Type: "ClusterComputeResource", Value: "domain-c1"}
			config := &types.ClusterConfigInfoEx{DrsVmConfig: tc.own}
			config.DrsConfig.Enabled, config.DrsConfig.DefaultVmBehavior = tc.enabled, tc.behavior
			cluster.ConfigurationEx = config
			if got := host.Automated(simulator.NewContext(), cluster, vm); got != tc.want {
				t.Errorf("got %v, want %v", got, tc.want)
			}
		})
	}
}

// TestMaintenanceWithDRSByHand waits like a standalone host.
func TestMaintenanceWithDRSByHand(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := setup(t, host.Options{})
		_, vm := r.clustered()
		h := r.hostOf(vm)
		cluster := object.NewClusterComputeResource(r.client, *r.host(hostName(r, h)).Parent)
		done(t)(cluster.Reconfigure(t.Context(), &types.ClusterConfigSpecEx{
			DrsConfig: &types.ClusterDrsConfigInfo{DefaultVmBehavior: types.DrsBehaviorManual},
		}, true))
		begin := time.Now()
		refused(t, new(types.Timedout))(h.EnterMaintenanceMode(t.Context(), 30, false, nil))
		if d := time.Since(begin).Round(time.Second); d != 30*time.Second {
			t.Errorf("gave up after %s", d)
		}
	})
}
