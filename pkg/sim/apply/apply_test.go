package apply_test

import (
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/sim"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/sim/apply"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/topology"
)

const head = "apiVersion: sandbox.vsphere/v1alpha1\nkind: Topology\nmetadata: {name: t}\n"

func load(t *testing.T, text string) *topology.Topology {
	t.Helper()
	top, err := topology.Load("topology", []byte(head+text))
	if err != nil {
		t.Fatal(err)
	}
	return top
}

// clients are sessions at all vCenters of a lab.
func clients(lab *sim.Lab) map[string]apply.Client {
	all := map[string]apply.Client{}
	for _, v := range lab.VCenters() {
		all[v.Name()] = apply.Sessions{Vim: lab.Client(v.Name()).Client, REST: lab.REST(v.Name())}
	}
	return all
}

// change starts a, applies b, and returns the lab.
func change(t *testing.T, a, b string) (*sim.Lab, []apply.Step) {
	t.Helper()
	lab := sim.Start(t, head+a)
	opts := apply.Options{Topology: load(t, b), Current: load(t, a), Clients: clients(lab)}
	lab.Rack(opts.Topology)
	plan, err := apply.New(t.Context(), opts)
	if err != nil {
		t.Fatal(err)
	}
	if done, err := plan.Run(t.Context(), nil); err != nil {
		t.Fatalf("after %d of %d steps: %v", done, len(plan.Steps()), err)
	}
	awaitGuests(t, lab, opts.Topology)
	opts.Current = opts.Topology
	again, err := apply.New(t.Context(), opts)
	if err != nil {
		t.Fatal(err)
	}
	for _, s := range again.Steps() {
		t.Errorf("still to be done: %s", s)
	}
	return lab, plan.Steps()
}

// awaitGuests waits until every expected guest is up.
func awaitGuests(t *testing.T, lab *sim.Lab, top *topology.Topology) {
	t.Helper()
	for i := range top.Spec.VCenters {
		v := &top.Spec.VCenters[i]
		deadline := time.Now().Add(30 * time.Second)
		for {
			missing := ""
			got := inventory(t, lab, v.Name)
			for r := range top.AllVMs() {
				if r.VCenter == v && r.VM.Power != topology.PowerOff && r.VM.Template != topology.Yes && r.VM.Tools != topology.No &&
					!strings.Contains(strings.Join(got[r.InventoryPath()], " "), "guest="+r.VM.Hostname) {
					missing = r.InventoryPath()
				}
			}
			if missing == "" {
				break
			}
			if time.Now().After(deadline) {
				t.Fatalf("guest of %s is not up: %v", missing, got[missing])
			}
			time.Sleep(2 * time.Millisecond)
		}
	}
}

const small = `
spec:
  vcenters:
    - name: vc
      datacenters:
        - name: dc
          region: eu
          clusters:
            - {name: c1, zone: a, hosts: [{name: esx-1}, {name: esx-2}]}
          vms:
            - {name: web, cluster: c1, replicas: 2, role: worker}
            - {name: db, cluster: c1}
`

func TestVMs(t *testing.T) {
	b := strings.Replace(small, "- {name: db, cluster: c1}", `- {name: db, cluster: c1, cpus: 8, memory: 8Gi, hostname: db.example, folder: data/base, extraConfig: [{key: a.b, value: "1"}]}
            - {name: new, cluster: c1, host: esx-2, role: worker, snapshots: [{name: s1}, {name: s2, description: two}], nics: [{addresses: [10.1.0.5/20, "2001:db8::5/64"]}, {addresses: [10.2.0.5/22]}]}
            - {name: tpl, cluster: c1, template: "yes"}
            - {name: cold, cluster: c1, power: "off"}`, 1)
	b = strings.Replace(b, "replicas: 2", "replicas: 1", 1)
	lab, steps := change(t, small, b)
	for _, s := range steps {
		t.Log(s)
	}
	alike(t, lab, b)
}

func TestHardware(t *testing.T) {
	b := strings.Replace(small, "          vms:\n", `            - {name: c2, zone: b, hosts: [{name: esx-3, cpus: 8, memory: 32Gi}], pools: [{name: prod, pools: [{name: web}], vapps: [{name: app}]}]}
          hosts: [{name: lone.example, cpus: 4, memory: 16Gi, zone: c, pools: [{name: p}]}]
          networks: [{name: VM Network}, {name: blue, cidr: 10.1.0.0/24}]
          switches: [{name: dvs, clusters: [c1, c2], portGroups: [{name: pg1, vlan: 7}, {name: pg2, cidr: 10.2.0.0/24}]}]
          datastores: [{name: dc-ds}, {name: fast, capacity: 2Ti, clusters: [c2]}, {name: share, type: nfs, capacity: 300Gi}, {name: n41, type: nfs41, hosts: [lone.example]}]
          vms:
            - {name: on-new, cluster: c2, pool: prod/web, datastore: fast, nics: [{network: pg2}, {network: blue}]}
            - {name: in-app, cluster: c2, pool: prod/app, datastore: share, nics: [{network: pg1}]}
            - {name: on-lone, host: lone.example, pool: p, datastore: n41, folder: a/b, nics: [{network: blue}]}
`, 1)
	b = strings.Replace(b, "datacenters:\n", `folders: [{path: americas/west, region: us}]
      datacenters:
        - {name: dc9, folder: americas/west, zone: z, clusters: [{name: k1, hosts: [{name: e91}, {name: e92}]}], vms: [{name: far, cluster: k1, role: worker}]}
`, 1)
	lab, steps := change(t, small, b)
	for _, s := range steps {
		t.Log(s)
	}
	alike(t, lab, b)
}

func TestUnchangeable(t *testing.T) {
	lab := sim.Start(t, head+small)
	b := load(t, strings.NewReplacer("{name: esx-1}", "{name: esx-1, cpus: 4, memory: 1Gi}", "- name: vc\n", "- name: other\n      datacenters: [{name: x, hosts: [{name: e9}]}]\n    - name: vc\n      version: 7.0.3\n").Replace(small))
	_, err := apply.New(t.Context(), apply.Options{Topology: b, Current: load(t, small), Clients: clients(lab)})
	if _, ok := errors.AsType[*apply.Unchangeable](err); !ok {
		t.Fatalf("err = %v", err)
	}
	want := `cannot be changed live:
other: is not there: vCenters are not added live
vc: is version 8.0.3, and no upgrade is made to 7.0.3
vc/dc/host/c1/esx-1: has 16 CPUs, and hardware is not changed: 4 are wanted
vc/dc/host/c1/esx-1: has 64Gi of memory, and hardware is not changed: 1Gi is wanted`
	if diff := cmp.Diff(want, err.Error()); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}
