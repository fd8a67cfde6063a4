package topology_test

import (
	"errors"
	"slices"
	"strings"
	"testing"

	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/topology"
	"github.com/vsphere-sandbox/vsphere-sandbox/scenarios"
)

// vms returns the VMs of a topology by name, after it was written and read again.
func vms(t *testing.T, top *topology.Topology) (names []string, all map[string]topology.VM) {
	t.Helper()
	text, err := topology.Marshal(top)
	if err != nil {
		t.Fatal(err)
	}
	again, err := topology.Load("scaled", text)
	if err != nil {
		t.Fatal(err)
	}
	all = map[string]topology.VM{}
	for _, vc := range again.Spec.VCenters {
		for _, dc := range vc.Datacenters {
			for _, vm := range dc.VMs {
				names, all[vm.Name] = append(names, vm.Name), vm
			}
		}
	}
	return names, all
}

func TestScale(t *testing.T) {
	load := func() *topology.Topology {
		top, err := scenarios.Load("zones-us-eu")
		if err != nil {
			t.Fatal(err)
		}
		return top
	}
	_, before := vms(t, load())
	top := load()
	if err := errors.Join(top.Scale("worker-west", 3), top.Scale("worker-eu", 1)); err != nil {
		t.Fatal(err)
	}
	names, after := vms(t, top)
	want := []string{"cp-1", "worker-west-1", "worker-west-2", "worker-west-3", "worker-east-1", "worker-east-2", "worker-eu-1"}
	if !slices.Equal(names, want) {
		t.Errorf("VMs %v, want %v", names, want)
	}
	if after["worker-west-1"].UUID != before["worker-west-1"].UUID || after["worker-west-1"].Host != before["worker-west-1"].Host {
		t.Error("a VM that stays was changed")
	}
	seen := map[string]bool{}
	for _, vm := range after {
		for _, is := range []string{vm.UUID, vm.InstanceUUID, vm.Hostname, vm.NICs[0].MAC, vm.NICs[0].Addresses[0]} {
			if is == "" || seen[is] {
				t.Errorf("%s: %q is of another VM, too", vm.Name, is)
			}
			seen[is] = true
		}
	}
	if a, b := after["worker-west-2"].Host, after["worker-west-3"].Host; a == b || after["worker-west-2"].Role != topology.RoleWorker {
		t.Errorf("hosts %s and %s", a, b)
	}

	// What --set makes is what scaling makes.
	set, err := scenarios.Load("zones-us-eu", topology.Setting{Name: "workers-west", Value: "3"}, topology.Setting{Name: "workers-eu", Value: "1"})
	if err != nil {
		t.Fatal(err)
	}
	_, direct := vms(t, set)
	for name, vm := range direct {
		if vm.UUID != after[name].UUID || vm.Host != after[name].Host || vm.CPUs != after[name].CPUs {
			t.Errorf("%s: set %s on %s, scaled %s on %s", name, vm.UUID, vm.Host, after[name].UUID, after[name].Host)
		}
	}
}

func TestScaleIsRefused(t *testing.T) {
	top, err := scenarios.Load("zones-us-eu")
	if err != nil {
		t.Fatal(err)
	}
	for _, tc := range []struct {
		group string
		n     int
		want  string
	}{
		{"worker", 2, `no VM has a name like worker-1; groups: cp, worker-west, worker-east, worker-eu`},
		{"worker-west-1", 2, "no VM has a name like"},
		{"worker-west", -1, "must have 0 to 1000 VMs, not -1"},
		{"worker-west", 1001, "not 1001"},
	} {
		if err := top.Scale(tc.group, tc.n); err == nil || !strings.Contains(err.Error(), tc.want) {
			t.Errorf("%s=%d: %v, want … %s …", tc.group, tc.n, err, tc.want)
		}
	}
}

func TestGroupOfParameters(t *testing.T) {
	top, err := scenarios.Load("zones-per-cluster",
		topology.Setting{Name: "workers", Value: "3"}, topology.Setting{Name: "workers-b", Value: "1"}, topology.Setting{Name: "memory", Value: "2Gi"})
	if err != nil {
		t.Fatal(err)
	}
	names, all := vms(t, top)
	if len(names) != 1+3+1+3 || all["worker-a-3"].Memory != 2*topology.Gi || all["cp-1"].Memory != 8*topology.Gi {
		t.Errorf("VMs %v", names)
	}
	if _, err := scenarios.Load("zones-us-eu", topology.Setting{Name: "worker", Value: "3"}); err == nil || !strings.Contains(err.Error(), `did you mean "workers-`) {
		t.Errorf("got %v", err)
	}
	data, err := scenarios.Read("single")
	if err != nil {
		t.Fatal(err)
	}
	parameters, err := topology.Declared(data)
	if err != nil || len(parameters) != 4 || parameters[0].Name != "workers" || parameters[0].Default != "2" {
		t.Errorf("%+v, %v", parameters, err)
	}
}
