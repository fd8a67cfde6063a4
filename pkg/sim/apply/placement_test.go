package apply_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/vmware/govmomi/find"
	"github.com/vmware/govmomi/object"
	"github.com/vmware/govmomi/property"
	"github.com/vmware/govmomi/vim25/mo"
	"github.com/vmware/govmomi/vim25/types"

	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/sim"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/sim/apply"
)

// sites is a compute cluster with keys and VMs.
func sites(cluster, vms string) string {
	return fmt.Sprintf(`
spec:
  vcenters:
    - name: vc
      datacenters:
        - name: dc
          clusters:
            - {name: c, hosts: [{name: a-1}, {name: b-1}, {name: b-2}]%s}
          vms: [{name: other, host: b-1}%s]
`, cluster, vms)
}

const twoSites = `, hostGroups: [{name: a, hosts: [a-1]}, {name: b, hosts: ["b-*"]}], vmGroups: [{name: va, vms: ["x-*"]}],
                rules: [{name: va-a, vmGroup: va, hostGroup: a, type: must-run-on}]`

// placed shows groups and rules of the compute cluster.
func placed(t *testing.T, lab *sim.Lab) []string {
	t.Helper()
	c := lab.Client("vc").Client
	cluster, err := find.NewFinder(c).ClusterComputeResource(t.Context(), "/dc/host/c")
	if err != nil {
		t.Fatal(err)
	}
	config, err := cluster.Configuration(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	names := func(refs []types.ManagedObjectReference) string {
		var all []string
		for _, r := range refs {
			var e mo.ManagedEntity
			if err := property.DefaultCollector(c).RetrieveOne(t.Context(), r, []string{"name"}, &e); err != nil {
				t.Fatal(err)
			}
			all = append(all, e.Name)
		}
		slices.Sort(all)
		return strings.Join(all, " ")
	}
	var out []string
	for _, g := range config.Group {
		switch g := g.(type) {
		case *types.ClusterHostGroup:
			out = append(out, g.Name+": "+names(g.Host))
		case *types.ClusterVmGroup:
			out = append(out, g.Name+": "+names(g.Vm))
		}
	}
	for _, r := range config.Rule {
		rule := r.(*types.ClusterVmHostRuleInfo)
		out = append(out, fmt.Sprintf("%s: %s on %s%s mandatory=%t", rule.Name, rule.VmGroupName, rule.AffineHostGroupName, rule.AntiAffineHostGroupName, *rule.Mandatory))
	}
	slices.Sort(out)
	return out
}

// Groups and rules come, change and go with the topology, and have VMs that are created with them.
func TestPlacement(t *testing.T) {
	with := []string{"a: a-1", "b: b-1 b-2", "va-a: va on a mandatory=true", "va: x-1 x-2"}
	for name, c := range map[string]struct {
		before, after string
		want          []string
	}{
		"built":     {sites(twoSites, `, {name: "x-{n}", replicas: 2}`), sites(twoSites, `, {name: "x-{n}", replicas: 2}`), with},
		"new":       {sites("", ""), sites(twoSites, `, {name: "x-{n}", replicas: 2}`), with},
		"a VM less": {sites(twoSites, `, {name: "x-{n}", replicas: 2}`), sites(twoSites, `, {name: x-1}`), []string{with[0], with[1], with[2], "va: x-1"}},
		"removed":   {sites(twoSites, `, {name: "x-{n}", replicas: 2}`), sites("", `, {name: "x-{n}", replicas: 2}`), nil},
		"another type": {
			sites(twoSites, `, {name: x-1}`), sites(strings.Replace(twoSites, "must-run-on", "should-not-run-on", 1), `, {name: x-1, host: a-1}`),
			[]string{with[0], with[1], "va-a: va on a mandatory=false", "va: x-1"},
		},
	} {
		t.Run(name, func(t *testing.T) {
			lab, _ := change(t, c.before, c.after)
			if d := cmp.Diff(c.want, placed(t, lab)); d != "" {
				t.Errorf("(-want +got):\n%s", d)
			}
		})
	}
}

// A VM that a machine controller put into a group stays there.
func TestPlacementKeepsMembers(t *testing.T) {
	text := sites(strings.Replace(twoSites, `, vms: ["x-*"]`, "", 1), "")
	lab := sim.Start(t, head+text)
	c := lab.Client("vc").Client
	finder := find.NewFinder(c)
	vm, err := finder.VirtualMachine(t.Context(), "/dc/vm/other")
	if err != nil {
		t.Fatal(err)
	}
	cluster, err := finder.ClusterComputeResource(t.Context(), "/dc/host/c")
	if err != nil {
		t.Fatal(err)
	}
	task, err := object.NewClusterComputeResource(c, cluster.Reference()).Reconfigure(t.Context(), &types.ClusterConfigSpecEx{GroupSpec: []types.ClusterGroupSpec{{
		ArrayUpdateSpec: types.ArrayUpdateSpec{Operation: types.ArrayUpdateOperationEdit},
		Info:            &types.ClusterVmGroup{ClusterGroupInfo: types.ClusterGroupInfo{Name: "va"}, Vm: []types.ManagedObjectReference{vm.Reference()}},
	}}}, true)
	if err != nil {
		t.Fatal(err)
	}
	if err := task.Wait(t.Context()); err != nil {
		t.Fatal(err)
	}
	plan, err := apply.New(t.Context(), apply.Options{Topology: load(t, text), Current: load(t, text), Clients: clients(lab)})
	if err != nil {
		t.Fatal(err)
	}
	for _, s := range plan.Steps() {
		t.Errorf("to be done: %s", s)
	}
}
