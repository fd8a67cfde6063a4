package vm_test

import (
	"errors"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/vmware/govmomi/object"
	"github.com/vmware/govmomi/vim25/mo"
	"github.com/vmware/govmomi/vim25/types"
	"github.com/vmware/govmomi/vslm"

	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/sim/fault"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/sim/fault/internal/vms/bench"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/sim/fault/vm"
)

// is compares properties: "path=value".
func is(pairs ...string) func(bench.T, *bench.VM, bench.Snapshot, bench.Snapshot) {
	return func(t bench.T, _ *bench.VM, _, now bench.Snapshot) {
		t.Helper()
		for _, pair := range pairs {
			path, want, _ := strings.Cut(pair, "=")
			if now[path] != want {
				t.Errorf("%s is %q, want %q", path, now[path], want)
			}
		}
	}
}

// all makes one check of several.
func all(checks ...func(bench.T, *bench.VM, bench.Snapshot, bench.Snapshot)) func(bench.T, *bench.VM, bench.Snapshot, bench.Snapshot) {
	return func(t bench.T, b *bench.VM, was, now bench.Snapshot) {
		t.Helper()
		for _, check := range checks {
			check(t, b, was, now)
		}
	}
}

// unchanged says that vSphere sees nothing of it.
func unchanged(t bench.T, _ *bench.VM, was, now bench.Snapshot) {
	t.Helper()
	for path := range was {
		if now[path] != was[path] {
			t.Errorf("%s is %q, was %q", path, now[path], was[path])
		}
	}
}

// called says what was asked of the processes last.
func called(want string) func(bench.T, *bench.VM, bench.Snapshot, bench.Snapshot) {
	return func(t bench.T, b *bench.VM, _, _ bench.Snapshot) {
		t.Helper()
		if calls := b.Processes.Calls(); len(calls) != 1 || calls[0] != want {
			t.Errorf("processes: %q, want %q", calls, want)
		}
	}
}

// caused says that an event about the VM has the injection as its cause.
func caused(kind string) func(bench.T, *bench.VM, bench.Snapshot, bench.Snapshot) {
	return func(t bench.T, b *bench.VM, _, _ bench.Snapshot) {
		t.Helper()
		leases := b.Engine(t, nil).Leases()
		for _, e := range b.EventsOf(kind) {
			if e.Cause == leases[len(leases)-1].Seq {
				return
			}
		}
		t.Errorf("no %s with cause %d in %+v", kind, leases[len(leases)-1].Seq, b.EventsOf(kind))
	}
}

func hostOf(want string) func(bench.T, *bench.VM, bench.Snapshot, bench.Snapshot) {
	return func(t bench.T, b *bench.VM, was, now bench.Snapshot) {
		t.Helper()
		items, err := b.Ground.Items(t.Context(), fault.VM)
		if err != nil {
			t.Fatal(err)
		}
		for _, i := range items {
			if i.Ref == b.Ref && i.Host != want {
				t.Errorf("is on host %s, want %s", i.Host, want)
			}
		}
		if now["runtime.host.value"] == was["runtime.host.value"] || now["listed."+now["runtime.host.value"]] != "1" {
			t.Errorf("runtime.host is %s, listed %s times", now["runtime.host.value"], now["listed."+now["runtime.host.value"]])
		}
	}
}

var down = []string{
	"guest.hostName=", "guest.ipAddress=", "summary.guest.hostName=", "summary.guest.ipAddress=", "guest.net[0].macAddress=",
	"guest.toolsRunningStatus=guestToolsNotRunning", "guestHeartbeatStatus=gray", "search.hostName=", "search.ip=",
}

var gone = is("gone=true", "name=", "search.uuid=", "search.instanceUuid=", "search.hostName=", "search.ip=")

func TestKinds(t *testing.T) {
	off := append([]string{"runtime.powerState=poweredOff", "summary.runtime.powerState=poweredOff", "search.uuid=node-1"}, down...)
	cases := []bench.Case{
		{Kind: "vm.power-off", PlanText: "power off (is on)", Effect: all(is(off...), caused("vm.powered-off"))},
		{Kind: "vm.guest-shutdown", PlanText: "shut down", Effect: all(is(off...))},
		{
			Kind: "vm.suspend", PlanText: "suspend",
			Effect: all(is(append([]string{"runtime.powerState=suspended"}, down...)...), caused("vm.suspended")),
		},
		{Kind: "vm.reset", PlanText: "reset", Effect: all(is("runtime.powerState=poweredOn"), caused("vm.reset"))},
		{
			Kind: "vm.crash-loop", Params: map[string]string{"every": "20ms"}, PlanText: "reset every 20ms",
			Effect: func(t bench.T, b *bench.VM, _, now bench.Snapshot) {
				is("runtime.powerState=poweredOn")(t, b, nil, now)
				waitFor(t, b, "vm.reset", 3)
			},
		},
		{
			Name: "of a VM that is switched off", Kind: "vm.crash-loop", Params: map[string]string{"every": "20ms"}, Differs: []string{"runtime.powerState"},
			Effect: func(t bench.T, b *bench.VM, _, _ bench.Snapshot) {
				bench.PowerOff(t, b)
				waitFor(t, b, "fault.skipped", 1)
				bench.PowerOn(t, b)
			},
		},
		{Kind: "vm.hang", PlanText: "stop the node", Effect: all(unchanged, called("pause node/node-1.example.org"))},
		{Kind: "vm.network-loss", Effect: all(unchanged, called("cut node/node-1.example.org silently"))},
		{
			Name: "loud", Kind: "vm.network-loss", Params: map[string]string{"silent": "false"},
			Effect: all(unchanged, called("cut node/node-1.example.org")),
		},
		{Kind: "vm.destroy", PlanText: "destroy (is on)", Effect: all(gone, caused("vm.destroyed"))},
		{Name: "off", Kind: "vm.destroy", Before: bench.PowerOff, PlanText: "destroy (is off)", Effect: gone},
		{Name: "alone", Kind: "vm.destroy", On: "node-4", Effect: gone},
		{Name: "without tools", Kind: "vm.destroy", On: "mute-1", Effect: gone},
		{Kind: "vm.unregister", PlanText: "unregister (is on)", Effect: all(gone, caused("vm.unregistered"))},
		{Name: "off", Kind: "vm.unregister", On: "off-1", PlanText: "unregister (is off)", Effect: gone},
		{
			Kind: "vm.recreate", PlanText: "another UUID",
			Effect: func(t bench.T, b *bench.VM, was, now bench.Snapshot) {
				is("name=node-1", "runtime.powerState=poweredOn", "search.uuid=", "search.instanceUuid=", "tags=gold silver",
					"guest.hostName="+was["guest.hostName"], "guest.ipAddress=10.0.0.11", "guest.net[0].macAddress="+was["guest.net[0].macAddress"],
				)(t, b, was, now)
				if now["config.uuid"] == was["config.uuid"] || now["config.uuid"] == "" || now["summary.config.uuid"] != now["config.uuid"] {
					t.Errorf("config.uuid is %q, was %q", now["config.uuid"], was["config.uuid"])
				}
				if now["config.instanceUuid"] == was["config.instanceUuid"] {
					t.Error("the instance UUID is the same")
				}
			},
		},
		{Kind: "vm.move", Params: map[string]string{"host": "esx-2"}, PlanText: "from host esx-1 to host esx-2", Effect: all(hostOf("esx-2"), caused("vm.moved"))},
		{Name: "anywhere", Kind: "vm.move", Effect: hostOf("esx-2")},
		{Name: "to a cluster", Kind: "vm.move", Params: map[string]string{"cluster": "c2"}, Effect: all(hostOf("esx-3"), is("runtime.powerState=poweredOn"))},
		{Name: "to a zone elsewhere", Kind: "vm.move", Params: map[string]string{"zone": "us-east"}, Effect: all(hostOf("esx-9"), is("search.uuid=node-1"))},
		{Name: "off", Kind: "vm.move", Before: bench.PowerOff, Params: map[string]string{"zone": "us-attic"}, Effect: hostOf("esx-3")},
		{
			Kind: "vm.template", PlanText: "mark as template (is on)",
			Effect: is("config.template=true", "summary.config.template=true", "runtime.powerState=poweredOff", "resourcePool.value=", "search.uuid=node-1"),
		},
		{Kind: "vm.clone-same-uuid", PlanText: "powered off", Effect: all(unchangedBut("search.uuid"), is("search.uuid=node-1 node-1-clone"))},
		{
			Name: "on", Kind: "vm.clone-same-uuid", Params: map[string]string{"power": "on"}, PlanText: "powered on",
			Effect: all(unchangedBut("search.uuid", "search.hostName"), is("search.uuid=node-1 node-1-clone", "search.hostName=node-1 node-1-clone")),
		},
		{
			Kind: "vm.slow-boot", Params: map[string]string{"by": "1h"}, PlanText: "boots take 1h0m0s longer",
			Effect: all(is(append([]string{"runtime.powerState=poweredOn"}, down...)...), caused("vm.reset")),
		},
		{Kind: "vm.rename", PlanText: "rename to node-1-renamed", Effect: is("name=node-1-renamed", "config.name=node-1-renamed", "search.uuid=node-1-renamed")},
		{Name: "as said", Kind: "vm.rename", Params: map[string]string{"to": "other"}, Effect: is("name=other", "guest.hostName=node-1.example.org")},
	}
	for _, c := range cases {
		t.Run(c.Title(), func(t *testing.T) { c.Try(t, vm.Kinds()) })
	}
	bench.Complete(t, vm.Kinds(), cases)
}

// unchangedBut is unchanged with exceptions.
func unchangedBut(but ...string) func(bench.T, *bench.VM, bench.Snapshot, bench.Snapshot) {
	return func(t bench.T, b *bench.VM, was, now bench.Snapshot) {
		t.Helper()
		left := bench.Snapshot{}
		for path, v := range was {
			if !slices.Contains(but, path) {
				left[path] = v
			}
		}
		unchanged(t, b, left, now)
	}
}

// waitFor waits for so many events of a kind.
func waitFor(t bench.T, b *bench.VM, kind string, n int) {
	t.Helper()
	after := uint64(0)
	for len(b.EventsOf(kind)) < n {
		events, _, err := b.Events.Wait(t.Context(), after, 0)
		if err != nil {
			t.Fatal(err)
		}
		after = events[len(events)-1].Seq
	}
}

// snapshot makes the VM one with a snapshot.
func snapshot(t bench.T, b *bench.VM) {
	t.Helper()
	task, err := object.NewVirtualMachine(b.Client(b.Item.VCenter).Client, b.Ref).CreateSnapshot(t.Context(), "now", "", false, false)
	if err == nil {
		err = task.Wait(t.Context())
	}
	if err != nil {
		t.Fatal(err)
	}
}

// notRunning has the kubelet of the VM be one that has crashed.
func notRunning(_ bench.T, b *bench.VM) {
	b.Processes.Fail("running node/node-1.example.org", errors.New("it waits to be started again"))
}

// noKubelet has the VM be one that boots.
func noKubelet(t bench.T, b *bench.VM) {
	t.Helper()
	if err := b.Processes.Scale(t.Context(), "node/node-1.example.org", 0); err != nil {
		t.Fatal(err)
	}
}

func TestRefused(t *testing.T) {
	for _, c := range []bench.Refusal{
		{Name: "off", Kind: "vm.power-off", On: "off-1", Message: "is off"},
		{Name: "template", Kind: "vm.power-off", On: "tpl", Message: "template"},
		{Name: "off", Kind: "vm.guest-shutdown", On: "off-1", Message: "is off"},
		{Name: "no tools", Kind: "vm.guest-shutdown", On: "mute-1", Message: "VMware Tools do not run"},
		{Name: "off", Kind: "vm.suspend", On: "off-1", Message: "is off"},
		{Name: "off", Kind: "vm.reset", On: "off-1", Message: "is off"},
		{Name: "off", Kind: "vm.crash-loop", On: "off-1", Message: "is off"},
		{Name: "too fast", Kind: "vm.crash-loop", Params: map[string]string{"every": "1ms"}, Code: "invalid", Message: "10ms"},
		{Name: "no node", Kind: "vm.hang", On: "plain", Message: "no node"},
		{Name: "no kubelet", Kind: "vm.hang", Before: notRunning, Message: "it waits to be started again"},
		{Name: "no kubelet", Kind: "vm.network-loss", Before: noKubelet, Message: "runs no kubelet"},
		{Name: "off", Kind: "vm.network-loss", On: "off-1", Message: "is off"},
		{Name: "template", Kind: "vm.destroy", On: "tpl", Message: "template"},
		{Name: "snapshots", Kind: "vm.destroy", On: "snapped", Message: "snapshots"},
		{Name: "snapshots", Kind: "vm.unregister", Before: snapshot, Message: "snapshots"},
		{Name: "snapshots", Kind: "vm.recreate", Before: snapshot, Message: "snapshots"},
		{Name: "template", Kind: "vm.move", On: "tpl", Message: "template"},
		{Name: "unknown host", Kind: "vm.move", Params: map[string]string{"host": "esx-99"}, Code: "not-found", Message: "esx-99"},
		{Name: "another vCenter's zone", Kind: "vm.move", Params: map[string]string{"zone": "eu-all"}, Code: "not-found", Message: "eu-all"},
		{Name: "there already", Kind: "vm.move", Params: map[string]string{"host": "esx-1"}, Message: "there already"},
		{Name: "nowhere else", Kind: "vm.move", On: "node-3", Message: "no other host"},
		{Name: "two places", Kind: "vm.move", Params: map[string]string{"host": "esx-2", "zone": "us-west"}, Code: "invalid", Message: "one of them"},
		{Name: "template", Kind: "vm.template", On: "tpl", Message: "already"},
		{Name: "template", Kind: "vm.clone-same-uuid", On: "tpl", Message: "template"},
		{Name: "off", Kind: "vm.slow-boot", On: "off-1", Message: "is off"},
		{Name: "no time", Kind: "vm.slow-boot", Params: map[string]string{"by": "0s"}, Code: "invalid", Message: "no time"},
		{Name: "same name", Kind: "vm.rename", Params: map[string]string{"to": "node-1"}, Message: "has that name"},
		{Name: "taken name", Kind: "vm.rename", Params: map[string]string{"to": "node-2"}, Message: "another"},
	} {
		t.Run(c.Title(), func(t *testing.T) { c.Try(t, vm.Kinds()) })
	}
}

// TestHealedByOthers: healing works after a user has restored the VM, or has changed it further.
func TestHealedByOthers(t *testing.T) {
	for kind, between := range map[string]func(*testing.T, *bench.VM){
		"vm.power-off": func(t *testing.T, b *bench.VM) { bench.PowerOn(t, b) },
		"vm.rename": func(t *testing.T, b *bench.VM) {
			task, err := object.NewCommon(b.Client("us").Client, b.Ref).Rename(t.Context(), "node-1")
			if err == nil {
				err = task.Wait(t.Context())
			}
			if err != nil {
				t.Fatal(err)
			}
		},
		"vm.hang": func(t *testing.T, b *bench.VM) {
			bench.PowerOff(t, b)
			b.Processes.Fail("resume node/node-1.example.org", errors.New("there is no process"))
		},
	} {
		t.Run(kind, func(t *testing.T) {
			b := bench.Start(t, "node-1")
			lease := b.Inject(t, vm.Kinds(), fault.Request{Kind: kind, On: fault.Selector{Names: []string{"node-1"}}})
			between(t, b)
			b.Heal(t, lease.ID)
		})
	}
	t.Run("vm.recreate of a VM whose successor gets another name and UUID", func(t *testing.T) {
		b := bench.Start(t, "node-1")
		was := b.Snapshot(t)
		lease := b.Inject(t, vm.Kinds(), fault.Request{Kind: "vm.recreate", On: fault.Selector{Names: []string{"node-1"}}})
		task, err := b.Other(t, "us", b.Path).Reconfigure(t.Context(), types.VirtualMachineConfigSpec{Name: "other", Uuid: "42000000-0000-4000-8000-00000000abcd"})
		if err == nil {
			err = task.Wait(t.Context())
		}
		if err != nil {
			t.Fatal(err)
		}
		b.Heal(t, lease.ID)
		same := func(p bench.Snapshot) bool { return bench.Diff(was, p) == "" }
		if now := b.Until(t, same); !same(now) {
			t.Error(bench.Diff(was, now))
		}
		items, err := b.Ground.Items(t.Context(), fault.VM)
		if err != nil || slices.ContainsFunc(items, func(i fault.Item) bool { return i.Name == "other" }) {
			t.Errorf("the other one is there: %v", err)
		}
	})
	for _, kind := range []string{"vm.power-off", "vm.suspend", "vm.rename", "vm.move", "vm.template", "vm.hang", "vm.slow-boot", "vm.crash-loop"} {
		t.Run(kind+" of a VM that is destroyed", func(t *testing.T) {
			b := bench.Start(t, "node-1")
			lease := b.Inject(t, vm.Kinds(), fault.Request{Kind: kind, On: fault.Selector{Names: []string{"node-1"}}})
			bench.Destroy(t, b)
			b.Heal(t, lease.ID)
			if b.Snapshot(t)["gone"] == "" {
				t.Error("the VM is there again")
			}
		})
	}
}

// TestSlowBootIsSurvived: every boot is slow, not the first alone.
func TestSlowBootIsSurvived(t *testing.T) {
	b := bench.Start(t, "node-1")
	lease := b.Inject(t, vm.Kinds(), fault.Request{
		Kind: "vm.slow-boot", On: fault.Selector{Names: []string{"node-1"}}, Params: map[string]string{"by": "200ms"},
	})
	b.Until(t, func(p bench.Snapshot) bool { return p["guest.hostName"] != "" })
	begin := time.Now()
	bench.PowerOff(t, b)
	bench.PowerOn(t, b)
	b.Until(t, func(p bench.Snapshot) bool { return p["guest.hostName"] != "" })
	if d := time.Since(begin); d < 200*time.Millisecond {
		t.Errorf("was up after %s", d)
	}
	b.Heal(t, lease.ID)
}

// TestOnARealVCenter: what needs no simulator does without one.
func TestOnARealVCenter(t *testing.T) {
	for _, k := range vm.Kinds() {
		t.Run(k.Name, func(t *testing.T) {
			b := bench.Start(t, "node-1")
			b.Ground.VCenters[0].Sim = nil
			was := b.Snapshot(t)
			request := fault.Request{Kind: k.Name, On: fault.Selector{Names: []string{"node-1"}}}
			if slices.Contains(k.Needs, fault.Simulator) {
				if r := b.Refused(t, vm.Kinds(), request); r.Code != "unsupported" {
					t.Errorf("%+v", r)
				}
				return
			}
			lease := b.Inject(t, vm.Kinds(), request)
			if !k.Momentary {
				b.Heal(t, lease.ID)
			}
			if now := b.Until(t, func(p bench.Snapshot) bool { return bench.Diff(was, p) == "" }); bench.Diff(was, now) != "" {
				t.Error(bench.Diff(was, now))
			}
		})
	}
}

// TestMany: VMs go and come side by side, most of them on one datastore.
func TestMany(t *testing.T) {
	names := []string{"node-1", "node-2", "plain", "mute-1"}
	for _, kind := range []string{"vm.destroy", "vm.unregister", "vm.recreate", "vm.clone-same-uuid", "vm.move"} {
		t.Run(kind, func(t *testing.T) {
			b := bench.Start(t, "node-1")
			was := b.Snapshot(t)
			for range 2 {
				lease := b.Inject(t, vm.Kinds(), fault.Request{Kind: kind, On: fault.Selector{Names: names}, Mode: "all"})
				if len(lease.Targets) != len(names) {
					t.Errorf("%d targets", len(lease.Targets))
				}
				b.Heal(t, lease.ID)
			}
			same := func(p bench.Snapshot) bool { return bench.Diff(was, p) == "" }
			if now := b.Until(t, same); !same(now) {
				t.Error(bench.Diff(was, now))
			}
		})
	}
}

// TestProcessThatCannotBePutRight: the lease stays until it can.
func TestProcessThatCannotBePutRight(t *testing.T) {
	b := bench.Start(t, "node-1")
	lease := b.Inject(t, vm.Kinds(), fault.Request{Kind: "vm.network-loss", On: fault.Selector{Names: []string{"node-1"}}})
	b.Processes.Fail("mend node/node-1.example.org", errors.New("not now"))
	if _, err := b.Engine(t, nil).Heal(t.Context(), lease.ID); err == nil || !strings.Contains(err.Error(), "not now") {
		t.Errorf("healed: %v", err)
	}
	b.Processes.Fail("mend node/node-1.example.org", nil)
	b.Heal(t, lease.ID)
}

// TestCausesOfHealing: what comes back comes back because of the healing.
func TestCausesOfHealing(t *testing.T) {
	for _, kind := range []string{"vm.destroy", "vm.unregister", "vm.recreate"} {
		t.Run(kind, func(t *testing.T) {
			b := bench.Start(t, "node-1")
			lease := b.Inject(t, vm.Kinds(), fault.Request{Kind: kind, On: fault.Selector{Names: []string{"node-1"}}})
			b.Heal(t, lease.ID)
			for _, e := range []string{"vm.created", "vm.powered-on"} {
				all := b.EventsOf(e)
				if len(all) == 0 || all[len(all)-1].Cause <= lease.Seq {
					t.Errorf("%s: %+v; the lease is event %d", e, all, lease.Seq)
				}
			}
		})
	}
}

// volume attaches a first-class disk to the VM, and returns a func that counts its consumers.
func volume(t *testing.T, b *bench.VM) (consumers func() int) {
	t.Helper()
	c := b.Client("us").Client
	me := object.NewVirtualMachine(c, b.Ref)
	var m mo.VirtualMachine
	if err := me.Properties(t.Context(), b.Ref, []string{"datastore"}, &m); err != nil {
		t.Fatal(err)
	}
	disks := vslm.NewObjectManager(c)
	ds := object.NewDatastore(c, m.Datastore[0])
	task, err := disks.CreateDisk(t.Context(), types.VslmCreateSpec{Name: "pv", CapacityInMB: 10, BackingSpec: &types.VslmCreateSpecDiskFileBackingSpec{
		VslmCreateSpecBackingSpec: types.VslmCreateSpecBackingSpec{Datastore: m.Datastore[0]},
	}})
	if err != nil {
		t.Fatal(err)
	}
	info, err := task.WaitForResult(t.Context(), nil)
	if err != nil {
		t.Fatal(err)
	}
	made := info.Result.(types.VStorageObject).Config
	id := made.Id.Id
	if err := me.AttachDisk(t.Context(), id, ds, 1000, nil); err != nil {
		t.Fatal(err)
	}
	return func() int {
		o, err := disks.Retrieve(t.Context(), ds, id)
		if err != nil {
			t.Fatal(err)
		}
		return len(o.Config.ConsumerId)
	}
}

// TestVolumes: those of the original are not a clone's, and live on when it is destroyed.
func TestVolumes(t *testing.T) {
	disks := func(p bench.Snapshot) (n int) {
		for path := range p {
			if strings.HasSuffix(path, ".vDiskId.id") {
				n++
			}
		}
		return n
	}
	for kind, want := range map[string]int{"vm.clone-same-uuid": 1, "vm.unregister": 1, "vm.template": 1, "vm.destroy": 0, "vm.recreate": 0} {
		t.Run(kind, func(t *testing.T) {
			b := bench.Start(t, "node-1")
			consumers := volume(t, b)
			if n := disks(b.Snapshot(t)); n != 1 || consumers() != 1 {
				t.Fatalf("%d volumes, %d consumers", n, consumers())
			}
			lease := b.Inject(t, vm.Kinds(), fault.Request{Kind: kind, On: fault.Selector{Names: []string{"node-1"}}})
			b.Heal(t, lease.ID)
			if n := disks(b.Snapshot(t)); n != want || consumers() != want {
				t.Errorf("healed: %d volumes, %d consumers; want %d", n, consumers(), want)
			}
		})
	}
}
