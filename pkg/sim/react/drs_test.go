package react_test

import (
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"github.com/vmware/govmomi/object"
	"github.com/vmware/govmomi/property"
	"github.com/vmware/govmomi/vim25/mo"
	"github.com/vmware/govmomi/vim25/types"

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

// TestDRSObeysRules: VMs go to the hosts of their group, and stay there, though another host has fewer.
func TestDRSObeysRules(t *testing.T) {
	for name, mandatory := range map[string]bool{"must": true, "should": false} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				r := setup(t, 6, topology.Reactions{DRS: topology.DRS{Enabled: topology.Yes}}, nil)
				hosts, vms := r.refs("HostSystem"), r.refs("VirtualMachine")
				site := hosts[2:]
				var host mo.HostSystem
				must(t, property.DefaultCollector(r.client).RetrieveOne(t.Context(), hosts[0], []string{"parent"}, &host))
				cluster := object.NewClusterComputeResource(r.client, *host.Parent)
				yes := true
				add := types.ArrayUpdateSpec{Operation: types.ArrayUpdateOperationAdd}
				done(t)(cluster.Reconfigure(t.Context(), &types.ClusterConfigSpecEx{
					GroupSpec: []types.ClusterGroupSpec{
						{ArrayUpdateSpec: add, Info: &types.ClusterHostGroup{ClusterGroupInfo: types.ClusterGroupInfo{Name: "site-a"}, Host: site}},
						{ArrayUpdateSpec: add, Info: &types.ClusterVmGroup{ClusterGroupInfo: types.ClusterGroupInfo{Name: "zone-a"}, Vm: vms[:5]}},
					},
					RulesSpec: []types.ClusterRuleSpec{{ArrayUpdateSpec: add, Info: &types.ClusterVmHostRuleInfo{
						ClusterRuleInfo: types.ClusterRuleInfo{Name: "a on a", Enabled: &yes, Mandatory: &mandatory},
						VmGroupName:     "zone-a", AffineHostGroupName: "site-a",
					}}},
				}, true))
				time.Sleep(3*react.DefaultPeriod + time.Second)
				synctest.Wait()
				for _, vm := range vms[:5] {
					if at := *r.vm(vm).Runtime.Host; at != site[0] {
						t.Errorf("%s runs on %s, want %s", vm, at, site[0])
					}
				}
				r.checkLists()
				// Its hosts leave: DRS moves what may be elsewhere.
				enter, err := object.NewHostSystem(r.client, site[0]).EnterMaintenanceMode(t.Context(), 0, false, nil)
				must(t, err)
				time.Sleep(time.Minute)
				synctest.Wait()
				if n := len(r.on(site[0])); (n >= 5) != mandatory {
					t.Errorf("%d VMs on the host that must be empty", n)
				}
				if mandatory {
					must(t, enter.Cancel(t.Context()))
				}
				must(t, ignored(enter.Wait(t.Context())))
			})
		})
	}
}

// TestDRSPlacesAtPowerOn: a VM that joins a group while it is off starts on a host of its rule, also when its last host is another.
func TestDRSPlacesAtPowerOn(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := setup(t, 6, topology.Reactions{DRS: topology.DRS{Enabled: topology.Yes}}, nil)
		vm := r.refs("VirtualMachine")[0]
		from := *r.vm(vm).Runtime.Host
		site := slices.DeleteFunc(r.refs("HostSystem"), func(h types.ManagedObjectReference) bool { return h == from })[:1]
		var host mo.HostSystem
		must(t, property.DefaultCollector(r.client).RetrieveOne(t.Context(), from, []string{"parent"}, &host))
		done(t)(object.NewVirtualMachine(r.client, vm).PowerOff(t.Context()))
		yes := true
		add := types.ArrayUpdateSpec{Operation: types.ArrayUpdateOperationAdd}
		done(t)(object.NewClusterComputeResource(r.client, *host.Parent).Reconfigure(t.Context(), &types.ClusterConfigSpecEx{
			GroupSpec: []types.ClusterGroupSpec{
				{ArrayUpdateSpec: add, Info: &types.ClusterHostGroup{ClusterGroupInfo: types.ClusterGroupInfo{Name: "site"}, Host: site}},
				{ArrayUpdateSpec: add, Info: &types.ClusterVmGroup{ClusterGroupInfo: types.ClusterGroupInfo{Name: "vms"}, Vm: []types.ManagedObjectReference{vm}}},
			},
			RulesSpec: []types.ClusterRuleSpec{{ArrayUpdateSpec: add, Info: &types.ClusterVmHostRuleInfo{
				ClusterRuleInfo: types.ClusterRuleInfo{Name: "vms on site", Enabled: &yes},
				VmGroupName:     "vms", AffineHostGroupName: "site",
			}}},
		}, true))
		if at := *r.vm(vm).Runtime.Host; at != from {
			t.Fatalf("a VM that is off was moved to %s", at)
		}
		done(t)(object.NewVirtualMachine(r.client, vm).PowerOn(t.Context()))
		if at := *r.vm(vm).Runtime.Host; at != site[0] {
			t.Errorf("started on %s, want %s", at, site[0])
		}
		r.checkLists()
	})
}

// ignored drops the error of a task that may be canceled.
func ignored(error) error { return nil }

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
