package sandbox

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/event"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/sandbox/api"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/sandbox/world"
)

// requireVM waits until ok accepts the VM with that path, as the watch reports it. Every change that it waits for
// logs an event.
func requireVM(t *testing.T, s *Sandbox, path string, ok func(api.VM) bool) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 30*time.Second)
	defer cancel()
	tick := time.NewTicker(time.Millisecond)
	defer tick.Stop()
	for {
		vms := s.world.VMs()
		i := slices.IndexFunc(vms, func(v world.VM) bool { return v.VCenter+v.Path == path })
		var vm api.VM
		if i >= 0 {
			vm = vms[i].VM
		}
		if ok(vm) {
			return
		}
		select {
		case <-tick.C:
		case <-ctx.Done():
			t.Fatalf("%s is %+v", path, vm)
		}
	}
}

func powerIs(power string) func(api.VM) bool { return func(v api.VM) bool { return v.Power == power } }

func TestActions(t *testing.T) {
	s := withVCenters(t, "zones-us-eu")
	c := serve(t, s)
	ctx := t.Context()
	const west = "us/dcwest/vm/worker-west-1"
	vm := func(action api.VMAction, name, host string) (api.Done, error) {
		return c.VM(ctx, api.VMRequest{Action: action, VM: name, Host: host})
	}
	for _, tc := range []struct {
		action     api.VMAction
		name, host string
		message    string
		path       string
		then       func(api.VM) bool
		kind       string // of the event that the vCenter's inventory made of it
	}{
		{action: api.PowerOff, name: "worker-west-1", message: `vm "worker-west-1" powered off`, path: west, then: powerIs("off"), kind: "vm.powered-off"},
		{action: api.PowerOn, name: "us/worker-west-1", message: `vm "worker-west-1" powered on`, path: west, then: powerIs("on"), kind: "vm.powered-on"},
		{action: api.Suspend, name: west, message: `vm "worker-west-1" suspended`, path: west, then: powerIs("suspended"), kind: "vm.suspended"},
		{action: api.PowerOn, name: "worker-west-1", message: `vm "worker-west-1" powered on`, path: west, then: powerIs("on")},
		{action: api.Reset, name: "worker-west-1", message: `vm "worker-west-1" reset`, path: west, then: powerIs("on")},
		{
			action: api.Move, name: "worker-east-1", host: "esx-east-2", message: `vm "worker-east-1" moved to host esx-east-2`,
			path: "us/dceast/vm/worker-east-1", then: func(v api.VM) bool { return v.Host == "esx-east-2" },
		},
		{
			action: api.Destroy, name: "worker-eu-1", message: `vm "worker-eu-1" destroyed`,
			path: "eu/dceu/vm/worker-eu-1", then: func(v api.VM) bool { return v.Name == "" },
		},
	} {
		t.Run(fmt.Sprintf("%s %s", tc.action, tc.name), func(t *testing.T) {
			done, err := vm(tc.action, tc.name, tc.host)
			if err != nil || done.Message != tc.message {
				t.Fatalf("%+v, %v, want %q", done, err, tc.message)
			}
			requireVM(t, s, tc.path, tc.then)
			events, _ := s.log.Read(done.Seq-1, 0)
			short := tc.path[strings.LastIndexByte(tc.path, '/')+1:]
			want := event.Event{
				Seq: done.Seq, Time: events[0].Time, Plane: event.PlaneSandbox, Level: event.Info, Kind: "command." + string(tc.action),
				Object:  event.Object{Kind: "VM", VCenter: tc.path[:2], Name: short},
				Message: strings.TrimSpace("vm " + string(tc.action) + " " + short + " " + tc.host),
			}
			if diff := cmp.Diff(want, events[0]); diff != "" {
				t.Errorf("command (-want +got):\n%s", diff)
			}
			if tc.kind != "" && !slices.ContainsFunc(events, func(e event.Event) bool {
				return e.Kind == tc.kind && e.Object.Name == short && e.Cause == done.Seq
			}) {
				t.Errorf("no event %s with the command as its cause in %+v", tc.kind, events)
			}
		})
	}

	for _, tc := range []struct {
		name string
		r    api.VMRequest
		code string
		text string
	}{
		{"no such VM", api.VMRequest{Action: api.Reset, VM: "worker-9"}, "not-found", `vm "worker-9" not found`},
		{"destroyed before", api.VMRequest{Action: api.Reset, VM: "worker-eu-1"}, "not-found", `vm "worker-eu-1" not found; did you mean "worker-eu-2"?`},
		{"no such action", api.VMRequest{Action: "teleport", VM: "cp-1"}, "invalid", `action "teleport": no such action`},
		{"on already", api.VMRequest{Action: api.PowerOn, VM: "cp-1"}, "conflict", `vm "cp-1": power-on: it is poweredOn`},
		{"moved nowhere", api.VMRequest{Action: api.Move, VM: "cp-1"}, "invalid", `vm "cp-1": move: no host named`},
		{"moved to another datacenter", api.VMRequest{Action: api.Move, VM: "cp-1", Host: "esx-east-1"}, "not-found", `host "esx-east-1": not in datacenter "dcwest" of vm "cp-1"`},
		{"no kubelet to hang", api.VMRequest{Action: api.Hang, VM: "cp-1"}, "conflict", `vm "cp-1" has no running guest to hang`},
	} {
		t.Run(tc.name, func(t *testing.T) {
			_, err := c.VM(ctx, tc.r)
			requireCode(t, tc.name, err, tc.code)
			if err == nil || err.Error() != tc.text {
				t.Errorf("got %v, want %s", err, tc.text)
			}
		})
	}
}

func TestGates(t *testing.T) {
	s := withVCenters(t, "zones-us-eu")
	c := serve(t, s)
	ctx := t.Context()
	_, err := c.Gate(ctx, api.GateRequest{VCenter: "asia", Mode: "down"})
	requireCode(t, "unknown vCenter", err, "not-found")
	_, err = c.Gate(ctx, api.GateRequest{VCenter: "eu", Mode: "ajar"})
	requireCode(t, "unknown mode", err, "invalid")
	if done, err := c.Gate(ctx, api.GateRequest{VCenter: "eu", Mode: "slow", Delay: api.Duration(time.Minute)}); err != nil || done.Seq == 0 {
		t.Errorf("%+v, %v", done, err)
	}
	rows, err := c.VCenters(ctx)
	if err != nil {
		t.Fatal(err)
	}
	for i, vc := range s.vcenters {
		want := api.VCenter{
			Name: []string{"us", "eu"}[i], URL: vc.URL().String(), User: vc.User(), InstanceUUID: vc.InstanceUUID(), Version: vc.Version(),
			Gate: []string{"up", "slow"}[i], Delay: []api.Duration{0, api.Duration(time.Minute)}[i],
			Watched: true, Datacenters: []int{2, 1}[i], Hosts: []int{4, 2}[i], VMs: []int{4, 2}[i],
		}
		if diff := cmp.Diff(want, rows[i]); diff != "" { // calls of the sandbox itself are not counted
			t.Errorf("(-want +got):\n%s", diff)
		}
	}

	// What is done to a gate is not for the sandbox itself.
	if _, err := c.VM(ctx, api.VMRequest{Action: api.PowerOff, VM: "worker-eu-1"}); err != nil {
		t.Error(err)
	}
	access, err := c.Access(ctx)
	if err != nil || len(access) != 2 {
		t.Fatalf("%+v, %v", access, err)
	}
	vc := s.vcenters[1]
	if diff := cmp.Diff(api.Access{VCenter: "eu", URL: vc.URL().String(), User: vc.User(), Password: vc.Password(), CAFile: s.vcenterCA()}, access[1]); diff != "" {
		t.Errorf("access (-want +got):\n%s", diff)
	}
}

// Listings join what the inventories and the tags of every vCenter say.
func TestListingsOfAnInventory(t *testing.T) {
	s := withVCenters(t, "zones-us-eu")
	c := serve(t, s)
	ctx := t.Context()
	zones, err := c.Zones(ctx)
	if err != nil {
		t.Fatal(err)
	}
	want := []api.Zone{
		{Region: "eu", Zone: "eu-all", Datacenters: []string{"eu/dceu"}, VMs: 2},
		{Region: "us", Zone: "us-east", Datacenters: []string{"us/dceast"}, VMs: 2},
		{Region: "us", Zone: "us-west", Datacenters: []string{"us/dcwest"}, VMs: 2},
	}
	if diff := cmp.Diff(want, zones); diff != "" {
		t.Errorf("zones (-want +got):\n%s", diff)
	}
	vms, err := c.VMs(ctx)
	if err != nil {
		t.Fatal(err)
	}
	var rows []string
	for _, v := range vms {
		rows = append(rows, strings.Join([]string{v.VCenter + v.Path, v.Role, v.Process, v.Zone, v.Power}, " "))
	}
	wantVMs := []string{
		"us/dceast/vm/worker-east-1 worker stopped us-east on", "us/dceast/vm/worker-east-2 worker stopped us-east on",
		"us/dcwest/vm/cp-1 control-plane stopped us-west on", "us/dcwest/vm/worker-west-1 worker stopped us-west on",
		"eu/dceu/vm/worker-eu-1 worker stopped eu-all on", "eu/dceu/vm/worker-eu-2 worker stopped eu-all on",
	}
	if diff := cmp.Diff(wantVMs, rows); diff != "" {
		t.Errorf("VMs (-want +got):\n%s", diff)
	}
	hosts, err := c.Hosts(ctx)
	if err != nil || len(hosts) != 6 {
		t.Errorf("%d hosts, %v", len(hosts), err)
	}
	dcs, err := c.Datacenters(ctx)
	if err != nil || len(dcs) != 3 {
		t.Errorf("%d datacenters, %v", len(dcs), err)
	}
	nodes, err := c.Nodes(ctx)
	if err != nil || len(nodes) != 6 || nodes[0].Registered {
		t.Errorf("nodes %+v, %v", nodes, err)
	}
	if st, err := c.Status(ctx); err != nil || st.Nodes != (api.NodeCount{Wanted: 6}) || len(st.VCenters) != 2 {
		t.Errorf("status %+v, %v", st, err)
	}
}

// A topology without regions and zones has no tag categories either, and that is no error.
func TestNoTags(t *testing.T) {
	s := withVCenters(t, "single")
	zones, err := serve(t, s).Zones(t.Context())
	if err != nil || len(zones) > 0 {
		t.Errorf("%+v, %v", zones, err)
	}
}
