package react_test

import (
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"github.com/vmware/govmomi/object"

	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/sim/react"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/topology"
)

func TestDRSSpreadsVMs(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := setup(t, 7, topology.Reactions{DRS: topology.DRS{Enabled: topology.Yes}}, nil)
		hosts := r.refs("HostSystem")
		done(t)(object.NewHostSystem(r.client, hosts[0]).EnterMaintenanceMode(t.Context(), 0, false, nil))
		done(t)(object.NewHostSystem(r.client, hosts[0]).ExitMaintenanceMode(t.Context(), 0))
		if n := len(r.on(hosts[0])); n != 0 {
			t.Fatalf("%d VMs on a host that was in maintenance mode", n)
		}
		time.Sleep(react.DefaultPeriod + time.Second)
		synctest.Wait()
		for _, h := range hosts {
			if n := len(r.on(h)); n < 2 || n > 3 {
				t.Errorf("%d of 7 VMs on one of 3 hosts", n)
			}
		}
		r.checkLists()
		if !slices.Contains(r.history(), "DrsVmMigratedEvent") {
			t.Errorf("events %v", r.history())
		}
		n := len(r.history())
		time.Sleep(3 * react.DefaultPeriod)
		synctest.Wait()
		if len(r.history()) != n {
			t.Error("VMs that are spread were moved")
		}
		var spreading uint64
		events, _ := r.log.Read(0, 0)
		for _, e := range events {
			if e.Kind == "drs.spreading" {
				spreading = e.Seq
			}
			if e.Kind == "vm.moved" && spreading > 0 && e.Cause != spreading {
				t.Errorf("%+v is not caused by %d", e, spreading)
			}
		}
	})
}

// TestNoReactions: without configuration there are no automatic actions.
func TestNoReactions(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := setup(t, 6, topology.Reactions{}, nil)
		if r.reactions != nil {
			t.Error("there are reactions")
		}
		h := *r.vm(r.refs("VirtualMachine")[0]).Runtime.Host
		must(t, r.hosts.Crash(t.Context(), h))
		time.Sleep(time.Hour)
		synctest.Wait()
		if *r.vm(r.refs("VirtualMachine")[0]).Runtime.Host != h {
			t.Error("restarted")
		}
	})
}
