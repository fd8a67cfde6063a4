package sandbox

import (
	"context"
	"encoding/json"
	"errors"
	"os"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/vmware/govmomi/object"
	"github.com/vmware/govmomi/vim25"
	"github.com/vmware/govmomi/vim25/types"

	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/event"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/sandbox/api"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/sandbox/causality"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/sim/fault"
)

// offKind powers VMs off, as the catalogue's does.
func offKind() *fault.Kind {
	type none struct{}
	do := func(ctx context.Context, c *fault.Call, f func(context.Context, *object.VirtualMachine) (*object.Task, error)) error {
		vc := c.Ground.VCenter(c.Target.VCenter)
		defer vc.Sim.Causing(c.Target.Name, c.Seq)()
		return vc.SOAP(ctx, func(ctx context.Context, vim *vim25.Client) error {
			t, err := f(ctx, object.NewVirtualMachine(vim, c.Target.Ref))
			if err != nil {
				return err
			}
			return t.Wait(ctx)
		})
	}
	return fault.New(fault.Kind{Name: "vm.power-off", Object: fault.VM, Aspect: "power"}, fault.Steps[none]{
		Plan: func(ctx context.Context, c *fault.Call) (s none, does string, err error) {
			err = c.Ground.VCenter(c.Target.VCenter).SOAP(ctx, func(ctx context.Context, vim *vim25.Client) error {
				state, err := object.NewVirtualMachine(vim, c.Target.Ref).PowerState(ctx)
				if err == nil && state != types.VirtualMachinePowerStatePoweredOn {
					err = fault.Refuse("is %s", state)
				}
				return err
			})
			return s, "power off (is on)", err
		},
		Apply: func(ctx context.Context, c *fault.Call, _ *none) error {
			return do(ctx, c, func(ctx context.Context, vm *object.VirtualMachine) (*object.Task, error) { return vm.PowerOff(ctx) })
		},
		Revert: func(ctx context.Context, c *fault.Call, _ *none) error {
			return do(ctx, c, func(ctx context.Context, vm *object.VirtualMachine) (*object.Task, error) { return vm.PowerOn(ctx) })
		},
	})
}

// withFaults returns a sandbox with vCenters in which VMs can be powered off, and a client of it.
func withFaults(t testing.TB) (*Sandbox, *api.Client) {
	t.Helper()
	s := withVCenters(t, "zones-us-eu")
	s.opts.VCentersOnly = true
	s.standOn(s.newGround())
	if err := s.startFaults([]*fault.Kind{offKind()}); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := s.faults.Close(context.Background()); err != nil {
			t.Error(err)
		}
	})
	return s, serve(t, s)
}

func TestInjectAndHeal(t *testing.T) {
	s, c := withFaults(t)
	ctx := t.Context()
	req := api.InjectRequest{Fault: "vm.power-off", On: api.Selector{Zone: "us-east"}, Mode: "all", Seed: 7, DryRun: true}
	planned, err := c.Inject(ctx, req)
	if err != nil || planned.ID != "" || len(planned.Targets) != 2 || planned.Targets[0].Does != "power off (is on)" {
		t.Fatalf("planned %+v, %v", planned, err)
	}
	req.DryRun = false
	req.For = api.Duration(time.Hour)
	lease, err := c.Inject(ctx, req)
	if err != nil || lease.ID != "f1" || lease.State != "active" || lease.Until == nil || lease.Seed != 7 {
		t.Fatalf("injected %+v, %v", lease, err)
	}
	if info, err := os.Stat(s.opts.Dir.Path("leases.jsonl")); err != nil || info.Mode().Perm() != 0o600 || info.Size() == 0 {
		t.Errorf("journal: %v, %v", info, err)
	}
	_, err = c.Inject(ctx, req)
	requireCode(t, "the same again", err, "conflict")
	_, err = c.Inject(ctx, api.InjectRequest{Fault: "vm.power-of"})
	requireCode(t, "unknown fault", err, "not-found")
	_, err = c.Inject(ctx, api.InjectRequest{Fault: "vm.power-off", On: api.Selector{Names: []string{"worker-9"}}})
	requireCode(t, "unknown VM", err, "not-found")
	_, err = c.Heal(ctx, api.HealRequest{IDs: []string{"f9"}})
	requireCode(t, "unknown lease", err, "not-found")
	_, err = c.Heal(ctx, api.HealRequest{})
	requireCode(t, "no lease", err, "invalid")

	for _, note := range []string{"", "was healed already"} {
		healed, err := c.Heal(ctx, api.HealRequest{IDs: []string{"f1"}})
		if err != nil || len(healed) != 1 || healed[0].State != "healed" || healed[0].Ended == nil || healed[0].Note != note {
			t.Errorf("healed %+v, %v", healed, err)
		}
	}
	if all, err := c.Heal(ctx, api.HealRequest{All: true}); err != nil || len(all) != 0 {
		t.Errorf("healed once more: %+v, %v", all, err)
	}
	if list, err := c.Leases(ctx); err != nil || len(list) != 1 || list[0].State != "healed" {
		t.Errorf("leases %+v, %v", list, err)
	}
	// What happened to the VMs has the lease for its cause.
	off, on := 0, 0
	events, _ := s.log.Read(0, 0)
	for _, e := range events {
		if e.Kind == "vm.powered-off" && e.Cause == lease.Seq {
			off++
		}
		if e.Kind == "vm.powered-on" && e.Cause != 0 && events[e.Cause-1].Kind == "fault.healed" && events[e.Cause-1].Cause == lease.Seq {
			on++
		}
	}
	if off != 2 || on != 2 {
		b, _ := json.Marshal(events)
		t.Errorf("%d off, %d on because of it: %s", off, on, b)
	}
}

// What is broken is put right before anything is stopped that this takes, and nothing is broken after.
func TestStopHealsFirst(t *testing.T) {
	s := newSandbox(t, "single")
	s.opts.VCentersOnly, s.opts.Place.Addresses = true, []string{"127.0.0.1:0"}
	s.standOn(s.newGround())
	steps := s.steps()
	begun, err := s.boot.Start(t.Context(), steps)
	if err != nil {
		t.Fatal(errors.Join(err, s.shutdown(steps, begun)))
	}
	request := api.InjectRequest{Fault: "vcenter.down"}
	lease, err := s.faults.Inject(t.Context(), request)
	if err != nil || lease.State != "active" {
		t.Errorf("%+v, %v", lease, err)
	}
	if rows := s.listing.Rows(); rows[0].Gate != "down" {
		t.Errorf("the vCenter is %s", rows[0].Gate)
	}
	if err := s.shutdown(steps, begun); err != nil {
		t.Error(err)
	}
	if l := s.faults.Engine().Leases(); len(l) != 1 || l[0].State != fault.Healed {
		t.Errorf("leases %+v", l)
	}
	_, err = s.faults.Inject(t.Context(), request)
	requireCode(t, "after the stop", err, "conflict")
	left, err := fault.ReadJournal(s.opts.Dir.Path("leases.jsonl"))
	if err != nil || len(left) != 0 {
		t.Errorf("left in the journal: %+v, %v", left, err)
	}
}

// Every object of the topology can be chosen, by what it is and where it is.
func TestGround(t *testing.T) {
	s, _ := withFaults(t)
	s.opts.VCentersOnly = false
	s.standOn(s.newGround())
	s.nodes.Assign(s.opts.Topology, nil)
	g := s.faultGround()
	for kind, want := range map[fault.Object][]string{
		fault.VM:         {"us/worker-east-1", "us/worker-east-2", "us/cp-1", "us/worker-west-1", "eu/worker-eu-1", "eu/worker-eu-2"},
		fault.Node:       {"worker-east-1", "worker-east-2", "cp-1", "worker-west-1", "worker-eu-1", "worker-eu-2"},
		fault.Host:       {"us/esx-east-1", "us/esx-east-2", "us/esx-west-1", "us/esx-west-2", "eu/esx-eu-1", "eu/esx-eu-2"},
		fault.Cluster:    {"us/east", "us/west", "eu"},
		fault.Datacenter: {"us/dceast", "us/dcwest", "eu/dceu"},
		fault.Datastore:  {"us/dceast-ds", "us/dcwest-ds", "eu/dceu-ds"},
		fault.Zone:       {"eu-all", "us-east", "us-west"},
		fault.VCenter:    {"us", "eu"},
	} {
		items, err := g.Items(t.Context(), kind)
		if err != nil {
			t.Fatal(err)
		}
		var got []string
		for _, i := range items {
			name := i.String()
			if kind == fault.Node {
				name = i.Name
			}
			got = append(got, name)
			if i.Kind != kind || kind != fault.VCenter && i.Region == "" {
				t.Errorf("%s: %+v", kind, i)
			}
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("%s (-want +got):\n%s", kind, diff)
		}
	}
	vm := items(t, s, fault.VM)[0]
	want := fault.Item{
		Kind: fault.VM, VCenter: "us", Name: "worker-east-1", Path: "/dceast/vm/worker-east-1", Ref: vm.Ref,
		Datacenter: "dceast", Cluster: "east", Host: vm.Host, Region: "us", Zone: "us-east", Node: "worker-east-1", Role: "worker",
	}
	if diff := cmp.Diff(want, vm); diff != "" || vm.Ref.Value == "" || vm.Host == "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	if ns, name, err := g.Cluster.Account("ccm"); err != nil || ns != "kube-system" || name != "cloud-controller-manager" {
		t.Errorf("account %s/%s, %v", ns, name, err)
	}
	if _, _, err := g.Cluster.Account("csi"); err == nil {
		t.Error("csi has an account")
	}
}

// A fault of several targets is a cause of what happens to each.
func TestCauseInALeaseOfSeveral(t *testing.T) {
	s, c := withFaults(t)
	lease, err := c.Inject(t.Context(), api.InjectRequest{Fault: "vm.power-off", On: api.Selector{Zone: "us-east"}, Mode: "all"})
	if err != nil {
		t.Fatal(err)
	}
	cause := func(name string) uint64 {
		return s.causes.Within(causality.AnyAge, []string{"fault.injected/vm."}, func(e event.Event) bool {
			return e.Object.Kind == "VM" && e.Object.Name == name
		})
	}
	if got := cause("worker-east-2"); got != lease.Seq {
		t.Errorf("a target: %d, want %d", got, lease.Seq)
	}
	if got := cause("worker-west-1"); got != 0 {
		t.Errorf("no target: %d", got)
	}
}

// items returns what faults of a kind can be injected into.
func items(t *testing.T, s *Sandbox, kind fault.Object) []fault.Item {
	t.Helper()
	all, err := s.faultGround().Items(t.Context(), kind)
	if err != nil {
		t.Fatal(err)
	}
	return all
}
