package faulttest_test

import (
	"context"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/vmware/govmomi/find"
	"github.com/vmware/govmomi/object"
	"github.com/vmware/govmomi/vim25"
	"github.com/vmware/govmomi/vim25/types"

	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/sim/fault"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/sim/fault/faulttest"
)

const zones = "../../../../scenarios/zones-us-eu.yaml"

func TestItems(t *testing.T) {
	w := faulttest.Start(t, zones)
	w.Ground.Processes = faulttest.NewProcesses("ccm", "control-plane")
	for kind, want := range map[fault.Object][]string{
		fault.VM:         {"us/worker-east-1", "us/worker-east-2", "us/cp-1", "us/worker-west-1", "eu/worker-eu-1", "eu/worker-eu-2"},
		fault.Node:       {"us/worker-east-1", "us/worker-east-2", "us/cp-1", "us/worker-west-1", "eu/worker-eu-1", "eu/worker-eu-2"},
		fault.Host:       {"us/esx-east-1", "us/esx-east-2", "us/esx-west-1", "us/esx-west-2", "eu/esx-eu-1", "eu/esx-eu-2"},
		fault.Cluster:    {"us/east", "us/west", "eu"},
		fault.Datacenter: {"us/dceast", "us/dcwest", "eu/dceu"},
		fault.Datastore:  {"us/dceast-ds", "us/dcwest-ds", "eu/dceu-ds"},
		fault.Zone:       {"us-east", "us-west", "eu-all"},
		fault.VCenter:    {"us", "eu"},
		fault.Component:  {"ccm", "control-plane"},
	} {
		items, err := w.Ground.Items(t.Context(), kind)
		if err != nil {
			t.Fatal(err)
		}
		var got []string
		for _, i := range items {
			if i.Kind != kind {
				t.Errorf("a %s among the %ss", i.Kind, kind)
			}
			got = append(got, i.String())
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("%s (-want +got):\n%s", kind, diff)
		}
	}
	vms, err := w.Ground.Items(t.Context(), fault.VM)
	if err != nil {
		t.Fatal(err)
	}
	want := fault.Item{
		Kind: fault.VM, VCenter: "us", Name: "worker-east-1", Path: "/dceast/vm/worker-east-1", Ref: vms[0].Ref,
		Datacenter: "dceast", Cluster: "east", Host: vms[0].Host, Region: "us", Zone: "us-east", Node: "worker-east-1", Role: "worker",
	}
	if diff := cmp.Diff(want, vms[0]); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

func TestInjectAndHeal(t *testing.T) {
	w := faulttest.Start(t, zones)
	kinds := []*fault.Kind{off()}
	power := func(name string) types.VirtualMachinePowerState {
		vm, err := find.NewFinder(w.Client("us").Client).VirtualMachine(t.Context(), "/dceast/vm/"+name)
		if err != nil {
			t.Fatal(err)
		}
		state, err := vm.PowerState(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		return state
	}
	request := fault.Request{Kind: "vm.off", On: faulttest.On("worker-east-1")}
	if p := w.Plan(t, kinds, request); p.ID != "" || p.Targets[0].Effect != "power off" || power("worker-east-1") != "poweredOn" {
		t.Errorf("planned %+v, and the VM is %s", p, power("worker-east-1"))
	}
	lease := w.Inject(t, kinds, request)
	if power("worker-east-1") != "poweredOff" {
		t.Error("the VM is on")
	}
	if r := w.Refused(t, kinds, request); r.Code != "conflict" {
		t.Errorf("the same again: %+v", r)
	}
	if l := w.Heal(t, lease.ID); l.State != fault.Healed || power("worker-east-1") != "poweredOn" {
		t.Errorf("healed: %+v, and the VM is %s", l, power("worker-east-1"))
	}
	injected, healed := w.EventsOf("fault.injected"), w.EventsOf("fault.healed")
	if len(injected) != 1 || len(healed) != 1 || healed[0].Cause != injected[0].Seq {
		t.Errorf("events %+v, %+v", injected, healed)
	}
}

// off is a kind that powers a VM off.
func off() *fault.Kind {
	type none struct{}
	task := func(ctx context.Context, c *fault.Call, f func(context.Context, *object.VirtualMachine) (*object.Task, error)) error {
		return c.Ground.VCenter(c.Target.VCenter).SOAP(ctx, func(ctx context.Context, vc *vim25.Client) error {
			t, err := f(ctx, object.NewVirtualMachine(vc, c.Target.Ref))
			if err != nil {
				return err
			}
			return t.Wait(ctx)
		})
	}
	return fault.New(fault.Kind{Name: "vm.off", Object: fault.VM, Aspect: "power"}, fault.Steps[none]{
		Plan: func(ctx context.Context, c *fault.Call) (s none, does string, err error) {
			err = c.Ground.VCenter(c.Target.VCenter).SOAP(ctx, func(ctx context.Context, vc *vim25.Client) error {
				state, err := object.NewVirtualMachine(vc, c.Target.Ref).PowerState(ctx)
				if err == nil && state != types.VirtualMachinePowerStatePoweredOn {
					err = fault.Refuse("is %s", state)
				}
				return err
			})
			return s, "power off", err
		},
		Apply: func(ctx context.Context, c *fault.Call, _ *none) error {
			return task(ctx, c, func(ctx context.Context, vm *object.VirtualMachine) (*object.Task, error) { return vm.PowerOff(ctx) })
		},
		Revert: func(ctx context.Context, c *fault.Call, _ *none) error {
			return task(ctx, c, func(ctx context.Context, vm *object.VirtualMachine) (*object.Task, error) { return vm.PowerOn(ctx) })
		},
	})
}
