package apply_test

import (
	"context"
	"errors"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/vmware/govmomi/find"
	"github.com/vmware/govmomi/vim25/types"

	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/sim"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/sim/apply"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/topology"
)

// foreign makes a VM that no topology names, on esx-2.
func foreign(t *testing.T, lab *sim.Lab) {
	t.Helper()
	ctx := t.Context()
	f := find.NewFinder(lab.Client("vc").Client)
	dc, err := f.DefaultDatacenter(ctx)
	if err != nil {
		t.Fatal(err)
	}
	f.SetDatacenter(dc)
	folder, err := f.Folder(ctx, "/dc/vm")
	if err != nil {
		t.Fatal(err)
	}
	pool, err := f.ResourcePool(ctx, "/dc/host/c1/Resources")
	if err != nil {
		t.Fatal(err)
	}
	host, err := f.HostSystem(ctx, "esx-2")
	if err != nil {
		t.Fatal(err)
	}
	task, err := folder.CreateVM(ctx, types.VirtualMachineConfigSpec{
		Name: "foreign", GuestId: "otherGuest", NumCPUs: 1, MemoryMB: 64, Files: &types.VirtualMachineFileInfo{VmPathName: "[dc-ds]"},
	}, pool, host)
	if err != nil {
		t.Fatal(err)
	}
	if err := task.Wait(ctx); err != nil {
		t.Fatal(err)
	}
}

func texts(steps []apply.Step) []string {
	var all []string
	for _, s := range steps {
		all = append(all, s.String())
	}
	return all
}

// What the topology never named stays, holds what it needs, and goes with prune.
func TestForeign(t *testing.T) {
	lab := sim.Start(t, head+small)
	foreign(t, lab)
	opts := apply.Options{Topology: load(t, small), Current: load(t, small), Clients: clients(lab)}
	plan, err := apply.New(t.Context(), opts)
	if err != nil || len(plan.Steps()) > 0 {
		t.Fatalf("of the same topology: %v, %v", err, texts(plan.Steps()))
	}
	opts.Topology = load(t, strings.Replace(small, ", {name: esx-2}", "", 1))
	_, err = apply.New(t.Context(), opts)
	want := "cannot be changed live:\nvc/dc/host/c1/esx-2: is to go, and holds VM foreign, which the topology did not make: move it, or --prune"
	if err == nil || err.Error() != want {
		t.Errorf("err = %v", err)
	}
	opts.Prune = true
	if plan, err = apply.New(t.Context(), opts); err != nil {
		t.Fatal(err)
	}
	if !slices.Contains(texts(plan.Steps()), "remove VM vc/dc/vm/foreign") {
		t.Errorf("steps: %v", texts(plan.Steps()))
	}
	if _, err := plan.Run(t.Context(), nil); err != nil {
		t.Fatal(err)
	}
	if _, there := inventory(t, lab, "vc")["/dc/vm/foreign"]; there {
		t.Error("it is still there")
	}
}

// TestRename: a VM with a UUID is renamed and moved, and stays the same VM.
func TestRename(t *testing.T) {
	const uuid = ", uuid: 42000000-0000-4000-8000-000000000009}"
	a := strings.Replace(small, "{name: db, cluster: c1}", "{name: db, cluster: c1"+uuid, 1)
	b := strings.Replace(small, "{name: db, cluster: c1}", "{name: database, folder: x, hostname: db, cluster: c1"+uuid, 1)
	lab, steps := change(t, a, b)
	var vm []string
	for _, s := range steps {
		if s.Kind == apply.KindVM {
			vm = append(vm, string(s.Op))
		}
	}
	if diff := cmp.Diff([]string{"change"}, vm); diff != "" {
		t.Errorf("(-want +got):\n%s\n%v", diff, texts(steps))
	}
	alike(t, lab, b)
}

// Steps end where one fails, or where ctx ends; what was done is done, and the next plan has the rest.
func TestStops(t *testing.T) {
	lab := sim.Start(t, head+small)
	b := strings.Replace(small, "replicas: 2", "replicas: 4", 1)
	opts := apply.Options{Topology: load(t, b), Current: load(t, small), Clients: clients(lab)}
	plan, err := apply.New(t.Context(), opts)
	if err != nil || len(plan.Steps()) != 2 {
		t.Fatalf("%v, %v", err, texts(plan.Steps()))
	}
	ctx, cancel := context.WithCancel(t.Context())
	done, err := plan.Run(ctx, func(int, apply.Step) { cancel() })
	if done != 1 || !errors.Is(err, context.Canceled) {
		t.Errorf("done %d, %v", done, err)
	}
	if plan, err = apply.New(t.Context(), opts); err != nil || len(plan.Steps()) != 1 {
		t.Fatalf("the rest: %v, %v", err, texts(plan.Steps()))
	}
	if _, err := plan.Run(t.Context(), nil); err != nil {
		t.Fatal(err)
	}
	// A topology that was begun counts, finished or not.
	opts.Topology, opts.Attempted = opts.Current, []*topology.Topology{opts.Topology}
	if plan, err = apply.New(t.Context(), opts); err != nil || len(plan.Steps()) != 2 || plan.Steps()[0].Op != apply.Remove {
		t.Errorf("back: %v, %v", err, texts(plan.Steps()))
	}
}

// A step that cannot be done ends it.
func TestFails(t *testing.T) {
	lab := sim.Start(t, head+small)
	opts := apply.Options{Current: load(t, small), Clients: clients(lab)}
	opts.Topology = load(t, strings.Replace(small, "{name: db, cluster: c1}", "{name: db, cluster: c1, cpus: 8}", 1))
	late, err := apply.New(t.Context(), opts)
	if err != nil {
		t.Fatal(err)
	}
	opts.Topology = load(t, strings.Replace(small, "            - {name: db, cluster: c1}\n", "", 1))
	first, err := apply.New(t.Context(), opts)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := first.Run(t.Context(), nil); err != nil {
		t.Fatal(err)
	}
	done, err := late.Run(t.Context(), nil)
	var failed *apply.StepError
	if done != 0 || !errors.As(err, &failed) || failed.Step.Path != "/dc/vm/db" {
		t.Errorf("done %d, %v", done, err)
	}
}

// Nodes that were switched off are on again: the topology says so. A host that DRS chose stays.
func TestPower(t *testing.T) {
	b := strings.Replace(small, "{name: db, cluster: c1}", `{name: db, cluster: c1, power: "off"}`, 1)
	lab, steps := change(t, small, b)
	if len(steps) != 1 || !steps[0].PowerOff {
		t.Errorf("steps: %v", texts(steps))
	}
	alike(t, lab, b)
}

// A card is put on another network while its VM runs: the guest keeps its addresses.
func TestRewire(t *testing.T) {
	const mac = `mac: "00:50:56:01:02:03", addresses: [10.1.0.7/20, "2001:db8::7/64"]`
	with := func(nics string) string {
		return strings.NewReplacer("{name: db, cluster: c1}", "{name: db, cluster: c1, nics: ["+nics+"]}",
			"          vms:\n", "          networks: [{name: VM Network}, {name: blue}]\n          vms:\n").Replace(small)
	}
	b := with("{network: blue, " + mac + "}")
	lab, steps := change(t, with("{network: VM Network, "+mac+"}"), b)
	if len(steps) != 1 || steps[0].PowerOff {
		t.Errorf("steps: %v", texts(steps))
	}
	alike(t, lab, b)
}
