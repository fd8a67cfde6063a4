package corrections

import (
	"slices"
	"testing"

	"github.com/vmware/govmomi/object"
	"github.com/vmware/govmomi/simulator"
	"github.com/vmware/govmomi/vim25/mo"
	"github.com/vmware/govmomi/vim25/types"

	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/sim/internal/vc"
)

// recorder writes down which properties of VMs were announced.
type recorder struct{ announced []string }

func (r *recorder) Reference() vc.Ref                          { return vc.Ref{Type: "Recorder", Value: "recorder"} }
func (r *recorder) PutObject(*simulator.Context, mo.Reference) {}
func (r *recorder) RemoveObject(*simulator.Context, vc.Ref)    {}
func (r *recorder) UpdateObject(_ *simulator.Context, obj mo.Reference, changes []types.PropertyChange) {
	if _, ok := obj.(*mo.VirtualMachine); ok {
		for _, c := range changes {
			r.announced = append(r.announced, c.Name)
		}
	}
}

func TestReconfiguredIdentityIsAnnounced(t *testing.T) {
	v := start(t)
	vm := v.vms()[0]
	r := new(recorder)
	v.base.Map.AddHandler(r)
	reconfigure := func(spec types.VirtualMachineConfigSpec) []string {
		r.announced = nil
		if err := finish(t.Context(), func() (*object.Task, error) { return vm.Reconfigure(t.Context(), spec) }); err != nil {
			t.Fatal(err)
		}
		return r.announced
	}
	reconfigure(types.VirtualMachineConfigSpec{Annotation: "first look"})
	for property, spec := range map[string]types.VirtualMachineConfigSpec{
		"name":                {Name: "another"},
		"config.uuid":         {Uuid: "3f1b2c1a-0000-4000-8000-000000000001"},
		"config.instanceUuid": {InstanceUuid: "3f1b2c1a-0000-4000-8000-000000000002"},
	} {
		if got := reconfigure(spec); !slices.Contains(got, property) {
			t.Errorf("announced %v, want %s", got, property)
		}
	}
	if got := reconfigure(types.VirtualMachineConfigSpec{Annotation: "x"}); slices.Contains(got, "name") {
		t.Errorf("announced a name that did not change: %v", got)
	}
}

func TestRenameToATakenName(t *testing.T) {
	v := start(t)
	vms := v.vms()
	rename := func(name string) error {
		return finish(t.Context(), func() (*object.Task, error) { return vms[0].Rename(t.Context(), name) })
	}
	if f, ok := faultOf(rename(vms[1].Name())).(*types.DuplicateName); !ok || f.Object != vms[1].Reference() {
		t.Errorf("fault %+v, want DuplicateName", f)
	}
	if err := rename("free"); err != nil {
		t.Error(err)
	}
}
