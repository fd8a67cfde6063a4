package react_test

import (
	"context"
	"math/rand/v2"
	"sync"
	"testing"
	"time"

	"github.com/vmware/govmomi/object"
	"github.com/vmware/govmomi/vim25/methods"
	"github.com/vmware/govmomi/vim25/types"

	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/topology"
)

// TestStorm does everything to hosts and VMs at once, for a second. It fails when something stalls or the lists of hosts
// are wrong in the end, and it is there for the race detector.
func TestStorm(t *testing.T) {
	soon := topology.Duration(time.Millisecond)
	r := setup(t, 12, topology.Reactions{
		HA:  topology.HA{Enabled: topology.Yes, Detect: soon, Restart: soon, HostFailures: 1},
		DRS: topology.DRS{Enabled: topology.Yes, Period: 5 * soon},
	}, nil)
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	end := time.Now().Add(time.Second)
	hosts, vms := r.refs("HostSystem"), r.refs("VirtualMachine")
	datastore := r.refs("Datastore")[0]

	var wg sync.WaitGroup
	var count [8]int
	loop := func(i int, f func(*rand.Rand)) {
		wg.Go(func() {
			random := rand.New(rand.NewPCG(1, uint64(i)))
			for time.Now().Before(end) {
				f(random)
				count[i]++
			}
		})
	}
	// Most of it is refused, by chance: only a stall is a failure.
	wait := func(task *object.Task, err error) {
		if err == nil {
			_ = task.Wait(ctx)
		}
		if ctx.Err() != nil {
			t.Error(ctx.Err())
		}
	}
	host := func(random *rand.Rand) *object.HostSystem {
		return object.NewHostSystem(r.client, hosts[random.IntN(len(hosts))])
	}
	vm := func(random *rand.Rand) *object.VirtualMachine {
		return object.NewVirtualMachine(r.client, vms[random.IntN(len(vms))])
	}
	loop(0, func(random *rand.Rand) {
		_ = r.hosts.Crash(ctx, host(random).Reference())
		time.Sleep(3 * time.Millisecond)
	})
	loop(1, func(random *rand.Rand) {
		_ = r.hosts.Recover(ctx, host(random).Reference())
		time.Sleep(time.Millisecond)
	})
	loop(2, func(random *rand.Rand) { wait(vm(random).PowerOn(ctx)) })
	loop(3, func(random *rand.Rand) { wait(vm(random).PowerOff(ctx)) })
	loop(4, func(random *rand.Rand) {
		wait(host(random).Disconnect(ctx))
		wait(host(random).Reconnect(ctx, nil, nil))
	})
	loop(5, func(random *rand.Rand) {
		wait(host(random).EnterMaintenanceMode(ctx, 1, random.IntN(2) == 0, nil))
		for _, h := range hosts {
			wait(object.NewHostSystem(r.client, h).ExitMaintenanceMode(ctx, 0))
		}
	})
	loop(6, func(random *rand.Rand) {
		_ = r.hosts.LoseDatastore(ctx, datastore, hosts[random.IntN(len(hosts))])
		_ = r.hosts.RestoreDatastore(ctx, datastore)
	})
	loop(7, func(random *rand.Rand) {
		res, err := methods.RebootHost_Task(ctx, r.client, &types.RebootHost_Task{This: host(random).Reference(), Force: true})
		if err == nil {
			_ = object.NewTask(r.client, res.Returnval).Wait(ctx)
		}
		time.Sleep(5 * time.Millisecond)
	})
	wg.Wait()
	t.Logf("rounds: %v", count)

	// When all is well again, everything agrees.
	for _, h := range hosts {
		_ = r.hosts.Recover(ctx, h)
		wait(object.NewHostSystem(r.client, h).Reconnect(ctx, nil, nil))
		wait(object.NewHostSystem(r.client, h).ExitMaintenanceMode(ctx, 0))
	}
	must(t, r.hosts.RestoreDatastore(ctx, datastore))
	r.reactions.Close()
	r.hosts.Close()
	r.checkLists()
	for _, v := range vms {
		if s := r.vm(v).Runtime; s.ConnectionState != types.VirtualMachineConnectionStateConnected {
			t.Errorf("VM %s: %s", v.Value, s.ConnectionState)
		}
	}
	for _, h := range hosts {
		if !r.hosts.Usable(h) {
			t.Errorf("host %s is out of service", h.Value)
		}
	}
}
