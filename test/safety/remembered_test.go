package safety

import (
	"context"
	"os"
	"testing"

	"github.com/vmware/govmomi/find"
	"github.com/vmware/govmomi/object"
	"github.com/vmware/govmomi/vim25/types"
	"sigs.k8s.io/yaml"

	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/sim/gate"
)

// remembered are the faults in which a CCM that has just started cannot see VMs that are there, though every vCenter that
// it is configured for answers: it needs to know what the one before it knew. Each strikes alone, and together with an
// outage of the same vCenter that is over sooner.
func remembered() []fault {
	blind := answers{no, no}
	without := fault{
		// The CCM that runs on waits for its next start before it gives up a vCenter.
		name: "vsphere.conf without the vCenter", core: restarted,
		answers: answers{yes, no}, zones: answers{yes, no}, sound: &answers{yes, yes}, strike: unconfigured,
	}
	alone := []fault{
		without,
		{name: "VMs hidden", core: restarted, zones: blind, strike: hiddenVMs},
		{name: "VM folder hidden", strike: hiddenPaths("/dc-us/vm")},
		{name: "VM folder and clusters hidden", zones: blind, strike: hiddenPaths("/dc-us/vm", "/dc-us/host/us-a", "/dc-us/host/us-b")},
		{name: "hosts hidden", strike: hiddenPaths("/dc-us/host/*/us-*")},
		{name: "datacenter hidden", zones: blind, strike: hiddenPaths("/dc-us")},
		{name: "datacenter hidden, none named in vsphere.conf", zones: blind, strike: hiddenUnnamed},
		{name: "BIOS UUIDs changed", core: restarted, zones: answers{yes, yes}, strike: otherUUIDs},
	}
	outage := newFault("down (refused)", no, setGate(gate.Mode{State: gate.Down}))
	var all []fault
	for _, f := range alone {
		if f.answers == (answers{}) { // what is gone may be known to be, and what is hidden is not
			f.answers = answers{maybe, maybe}
		}
		if f.zones == (answers{}) {
			f.zones = answers{maybe, maybe}
		}
		f.modes = []mode{runsOn, restarted, swapped}
		both := f
		both.name += " + " + outage.name
		both.core, both.modes, both.first = "", []mode{runsOn, restarted}, &outage
		both.zones, both.sound = blind, &answers{maybe, maybe}
		if both.answers.running == yes {
			both.answers.running = maybe
		}
		all = append(all, f, both)
	}
	return all
}

// unconfigured takes the broken vCenter out of vsphere.conf.
func unconfigured(t *testing.T, w *world, _ int) func() {
	return w.editConfig(t, func(tenants map[string]any) { delete(tenants, broken) })
}

// editConfig changes the vCenters of vsphere.conf, and puts it back.
func (w *world) editConfig(t *testing.T, edit func(vcenters map[string]any)) func() {
	t.Helper()
	before, err := os.ReadFile(w.ccm.ConfigFile)
	if err != nil {
		t.Fatal(err)
	}
	var conf map[string]any
	if err := yaml.Unmarshal(before, &conf); err != nil {
		t.Fatal(err)
	}
	vcenters, ok := conf["vcenter"].(map[string]any)
	if !ok {
		t.Fatalf("no vcenters in\n%s", before)
	}
	edit(vcenters)
	after, err := yaml.Marshal(conf)
	if err != nil {
		t.Fatal(err)
	}
	write := func(text []byte) {
		if err := w.ccm.WriteConfig(text); err != nil {
			t.Fatal(err)
		}
	}
	write(after)
	return func() { write(before) }
}

// hiddenVMs takes from the CCM's account each VM of a row.
func hiddenVMs(t *testing.T, w *world, row int) func() {
	var refs []types.ManagedObjectReference
	for _, s := range states() {
		vm, err := w.node(broken, s, row).Object(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		refs = append(refs, vm.Reference())
	}
	return hide(t, w, refs)
}

// hiddenPaths takes from the account what matches the inventory paths, with all below it.
func hiddenPaths(paths ...string) func(*testing.T, *world, int) func() {
	return func(t *testing.T, w *world, _ int) func() {
		finder := find.NewFinder(w.Operator(broken).Client)
		var refs []types.ManagedObjectReference
		for _, path := range paths {
			found, err := finder.ManagedObjectList(t.Context(), path)
			if err != nil || len(found) == 0 {
				t.Fatalf("%s: %d objects, %v", path, len(found), err)
			}
			for _, e := range found {
				refs = append(refs, e.Object.Reference())
			}
		}
		return hide(t, w, refs)
	}
}

// hiddenUnnamed hides the datacenter from a CCM that is not configured to expect it.
func hiddenUnnamed(t *testing.T, w *world, row int) func() {
	named := w.editConfig(t, func(vcenters map[string]any) {
		for _, vc := range vcenters {
			if vc, ok := vc.(map[string]any); ok {
				delete(vc, "datacenters")
			}
		}
	})
	shown := hiddenPaths("/dc-us")(t, w, row)
	return func() {
		shown()
		named()
	}
}

// hide gives the account the role NoAccess on objects, and takes it away again from those that are still there.
func hide(t *testing.T, w *world, refs []types.ManagedObjectReference) func() {
	t.Helper()
	ctx, m, _, held := permission(t, w)
	const noAccess = -5
	for _, ref := range refs {
		p := types.Permission{Principal: held.Principal, RoleId: noAccess, Propagate: true}
		if err := m.SetEntityPermissions(ctx, ref, []types.Permission{p}); err != nil {
			t.Fatal(err)
		}
	}
	return func() {
		for _, ref := range refs {
			if err := m.RemoveEntityPermission(ctx, ref, held.Principal, false); err != nil && !destroyed(ctx, w, ref) {
				t.Fatal(err)
			}
		}
	}
}

func destroyed(ctx context.Context, w *world, ref types.ManagedObjectReference) bool {
	_, err := object.NewCommon(w.Operator(broken).Client, ref).ObjectName(ctx)
	return err != nil
}

// otherUUIDs gives every VM of a row another BIOS UUID, but the one whose node has yet to join.
func otherUUIDs(t *testing.T, w *world, row int) func() {
	ctx := context.WithoutCancel(t.Context())
	back := func() {}
	for _, s := range states() {
		if s == joining {
			continue
		}
		m := w.node(broken, s, row)
		vm, err := m.Object(ctx)
		if err != nil {
			t.Fatal(err)
		}
		set := func(uuid string) error {
			task, err := vm.Reconfigure(ctx, types.VirtualMachineConfigSpec{Uuid: uuid})
			if err == nil {
				err = task.Wait(ctx)
			}
			return err
		}
		// The byte order swapped would be the same UUID.
		if err := set(m.UUID[:24] + "0ddc0ffee0dd"); err != nil {
			t.Fatal(err)
		}
		others := back
		back = func() {
			others()
			if err := set(m.UUID); err != nil && !destroyed(ctx, w, vm.Reference()) {
				t.Error(err)
			}
		}
	}
	return back
}
