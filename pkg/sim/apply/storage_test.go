package apply_test

import (
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/sim"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/sim/apply"
)

// TestPolicies: storage policies are created, changed and removed, with their tags; those of other clients stay.
func TestPolicies(t *testing.T) {
	const a = `
spec:
  tagCategories: [{name: tier, types: [Datastore]}]
  vcenters:
    - name: vc
      policies:
        - {name: gold, tags: [{category: tier, name: gold}]}
        - {name: gone, types: [vmfs]}
        - {name: same, description: as before, types: [vmfs, nfs]}
      datacenters:
        - name: dc
          datastores: [{name: ds}, {name: fast, tags: [{category: tier, name: gold}]}]
          hosts: [{name: esx}]
`
	b := strings.NewReplacer(
		"{name: gold, tags: [{category: tier, name: gold}]}\n", "{name: gold, description: better, tags: [{category: tier, name: platinum}], types: [vmfs]}\n        - {name: new, tags: [{category: tier, name: new}]}\n",
		"        - {name: gone, types: [vmfs]}\n", "", "types: [vmfs, nfs]", "types: [nfs, vmfs]",
		"{name: ds}", "{name: ds, tags: [{category: tier, name: platinum}]}",
	).Replace(a)
	lab, steps := change(t, a, b)
	var got []string
	for _, s := range steps {
		if s.Kind == apply.KindPolicy {
			got = append(got, s.String())
		}
	}
	want := []string{
		"change StoragePolicy vc/gold: description, tier/platinum and vmfs", "create StoragePolicy vc/new: tier/new", "remove StoragePolicy vc/gone",
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("steps (-want +got):\n%s", diff)
	}

	// The vCenter that was changed is the one that is built so, identifiers included.
	changed, _ := lab.VCenter("vc")
	built, _ := sim.Start(t, head+b).VCenter("vc")
	lines := func(v *sim.VCenter) []string {
		var all []string
		for _, p := range v.Policies() {
			all = append(all, p.Name+" "+p.ID+" "+p.Description+" "+strings.Repeat("*", len(p.Datastores)))
		}
		slices.Sort(all)
		return all
	}
	if diff := cmp.Diff(lines(built), lines(changed)); diff != "" {
		t.Errorf("policies (-built +changed):\n%s", diff)
	}

	opts := apply.Options{Topology: load(t, a), Clients: clients(lab)}
	plan, err := apply.New(t.Context(), opts)
	if err != nil || slices.Contains(texts(plan.Steps()), "remove StoragePolicy vc/new") {
		t.Errorf("of others: %v, %v", texts(plan.Steps()), err)
	}
	opts.Prune = true
	plan, err = apply.New(t.Context(), opts)
	if err != nil || !slices.Contains(texts(plan.Steps()), "remove StoragePolicy vc/new") {
		t.Errorf("to prune: %v, %v", texts(plan.Steps()), err)
	}
}
