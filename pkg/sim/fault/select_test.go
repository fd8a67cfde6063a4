package fault_test

import (
	"context"
	"errors"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/sim/fault"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/sim/fault/faulttest"
)

// country is a ground with VMs in several places, and the kind that does nothing to them.
func country(t *testing.T) (*fault.Engine, *fault.Ground) {
	t.Helper()
	vm := func(vc, dc, zone, host, name, role string) fault.Item {
		return fault.Item{
			Kind: fault.VM, VCenter: vc, Name: name, Path: "/" + dc + "/vm/" + name, Datacenter: dc, Cluster: "c-" + dc, Host: host,
			Region: vc, Zone: zone, Node: strings.ToLower(name) + ".example", Role: role,
		}
	}
	items := []fault.Item{
		vm("us", "east", "us-east", "esx-1", "Worker-1", "worker"), vm("us", "east", "us-east", "esx-2", "worker-2", "worker"),
		vm("us", "west", "us-west", "esx-1", "worker-3", "worker"), vm("us", "west", "us-west", "esx-3", "cp-1", "control-plane"),
		vm("eu", "all", "eu-all", "esx-1", "Worker-1", "worker"), vm("eu", "all", "eu-all", "esx-9", "db", ""),
	}
	g := &fault.Ground{Items: func(_ context.Context, kind fault.Object) ([]fault.Item, error) {
		switch kind {
		case fault.VM:
			return items, nil
		case fault.Zone:
			return []fault.Item{{Kind: kind, Name: "a", Region: "us", Zone: "a"}, {Kind: kind, Name: "a", Region: "eu", Zone: "a"}}, nil
		case fault.VCenter:
			return []fault.Item{{Kind: kind, VCenter: "us", Name: "us"}}, nil
		case fault.Host:
			return nil, errors.New("the inventory is not to be had")
		}
		return nil, nil
	}}
	kind := func(name string, on fault.Object) *fault.Kind {
		type none struct{}
		nothing := func(context.Context, *fault.Call, *none) error { return nil }
		return fault.New(fault.Kind{Name: name, Object: on}, fault.Steps[none]{
			Plan:  func(context.Context, *fault.Call) (none, string, error) { return none{}, "nothing", nil },
			Apply: nothing, Revert: nothing,
		})
	}
	e := fault.NewEngine(fault.Options{Ground: g, Kinds: []*fault.Kind{
		kind("vm.nothing", fault.VM), kind("zone.nothing", fault.Zone), kind("vcenter.nothing", fault.VCenter),
		kind("host.nothing", fault.Host), kind("store.nothing", fault.Datastore), kind("all.nothing", fault.Sandbox),
	}})
	t.Cleanup(func() {
		if err := e.Close(context.Background()); err != nil {
			t.Error(err)
		}
	})
	return e, g
}

func chosen(l fault.Lease) string {
	var names []string
	for _, t := range l.Targets {
		names = append(names, t.Target.String())
	}
	return strings.Join(names, " ")
}

func TestSelect(t *testing.T) {
	e, g := country(t)
	node := func(name, pool string) *corev1.Node {
		return &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: name, Labels: map[string]string{"pool": pool}}}
	}
	g.Cluster = faulttest.NewCluster(node("worker-2.example", "big"), node("worker-3.example", "big"), node("cp-1.example", "small"))
	type sel = fault.Selector
	for _, tc := range []struct {
		name string
		kind string
		on   sel
		mode string
		want string // targets, or code of the refusal
		says []string
	}{
		{name: "a name", on: on("worker-2"), want: "us/worker-2"},
		{name: "vcenter and name", on: on("eu/Worker-1"), want: "eu/Worker-1"},
		{name: "path", on: on("/east/vm/Worker-1"), want: "us/Worker-1"},
		{name: "path of a vcenter", on: on("eu/all/vm/db"), want: "eu/db"},
		{name: "hostname in any case", on: on("CP-1.Example"), want: "us/cp-1"},
		{name: "several names, once each, in the ground's order", on: on("db", "cp-1", "us/cp-1", "db"), want: "us/cp-1 eu/db"},
		{name: "wildcard", on: on("worker-?"), want: "us/worker-2 us/worker-3"},
		{name: "wildcard over vcenters", on: on("*/Worker-*"), want: "us/Worker-1 eu/Worker-1"},
		{name: "name in a place", on: sel{Names: []string{"Worker-1"}, VCenter: "eu"}, want: "eu/Worker-1"},
		{name: "name that several have", on: on("Worker-1"), want: "ambiguous", says: []string{"there are 2", "us/Worker-1, eu/Worker-1"}},
		{name: "name that several have, all", on: on("Worker-1"), mode: "all", want: "us/Worker-1 eu/Worker-1"},
		{name: "no such name", on: on("worker-22"), want: "not-found", says: []string{`did you mean "worker-2"?`, "vsphere-sandbox get vms"}},
		{name: "no such name, far off", on: on("zebra"), want: "not-found", says: []string{`VM "zebra"`}},
		{name: "name elsewhere", on: sel{Names: []string{"db"}, VCenter: "us"}, want: "not-found", says: []string{"not where you look", "vsphere-sandbox get vms"}},
		{name: "one name of two", on: on("db", "dv"), want: "not-found", says: []string{`"dv"`, `"db"`}},

		{name: "vcenter", on: sel{VCenter: "eu"}, mode: "all", want: "eu/Worker-1 eu/db"},
		{name: "datacenter", on: sel{Datacenter: "west"}, mode: "all", want: "us/worker-3 us/cp-1"},
		{name: "cluster", on: sel{Cluster: "c-w*"}, mode: "all", want: "us/worker-3 us/cp-1"},
		{name: "host in a zone", on: sel{Host: "esx-1", Zone: "us-*"}, mode: "all", want: "us/Worker-1 us/worker-3"},
		{name: "region and role", on: sel{Region: "us", Role: "control-plane"}, want: "us/cp-1"},
		{name: "labels", on: sel{Labels: "pool=big"}, mode: "all", want: "us/worker-2 us/worker-3"},
		{name: "labels and place", on: sel{Labels: "pool in (big, small)", Host: "esx-3"}, want: "us/cp-1"},
		{name: "no such labels", on: sel{Labels: "pool=huge"}, want: "not-found", says: []string{"pool=huge"}},
		{name: "no labels", on: sel{Labels: "pool=="}, want: "not-found"},
		{name: "malformed labels", on: sel{Labels: "pool=(big"}, want: "invalid", says: []string{"pool=(big"}},
		{name: "no such zone", on: sel{Zone: "us-eest"}, want: "not-found", says: []string{`zone "us-eest"`, `did you mean "us-east"?`, "vsphere-sandbox get vms"}},
		{name: "no such role", on: sel{Role: "boss"}, want: "not-found", says: []string{"worker, control-plane"}},
		{name: "more than one", on: sel{Zone: "us-east"}, want: "ambiguous", says: []string{"2 VMs match", "--mode one|all|N|N%"}},

		{name: "nothing said", want: "ambiguous", says: []string{"6 VMs match", "fault inject", " VM   # or --mode one|all|N|N%"}},
		{name: "number", mode: "6", want: "us/Worker-1 us/worker-2 us/worker-3 us/cp-1 eu/Worker-1 eu/db"},
		{name: "too many", mode: "7", want: "not-found", says: []string{"7 VMs are wanted, and 6 match"}},
		{name: "none", mode: "0", want: "invalid"},
		{name: "percentage too high", mode: "101%", want: "invalid"},
		{name: "percentage of nothing", mode: "0%", want: "invalid"},
		{name: "nonsense", mode: "some", want: "invalid", says: []string{`"some"`, "one, all"}},

		{name: "the only one", kind: "vcenter.nothing", want: "us"},
		{name: "zones of two regions", kind: "zone.nothing", on: on("a"), want: "ambiguous"},
		{name: "zone of a region", kind: "zone.nothing", on: on("eu/a"), want: "a"},
		{name: "there is none", kind: "store.nothing", want: "not-found", says: []string{"there is no datastore"}},
		{name: "labels of a zone", kind: "zone.nothing", on: sel{Labels: "a=b"}, want: "invalid"},
		{name: "the whole sandbox", kind: "all.nothing", want: "sandbox"},
		{name: "a part of the sandbox", kind: "all.nothing", on: on("x"), want: "invalid"},
		{name: "unknown kind", kind: "vm.nothinh", want: "not-found", says: []string{`did you mean "vm.nothing"?`, "fault list"}},
	} {
		t.Run(tc.name, func(t *testing.T) {
			if tc.kind == "" {
				tc.kind = "vm.nothing"
			}
			l, err := e.Plan(t.Context(), fault.Request{Kind: tc.kind, On: tc.on, Mode: tc.mode, Seed: 1})
			if err != nil {
				requireRefusal(t, err, tc.want, tc.says...)
			} else if got := chosen(l); got != tc.want {
				t.Errorf("got %q, want %q", got, tc.want)
			}
		})
	}
	if _, err := e.Plan(t.Context(), fault.Request{Kind: "host.nothing"}); err == nil || err.Error() != "the inventory is not to be had" {
		t.Errorf("err %v", err)
	}
	g.Cluster = nil
	_, err := e.Plan(t.Context(), fault.Request{Kind: "vm.nothing", On: sel{Labels: "pool=big"}})
	requireRefusal(t, err, "unsupported", "no Kubernetes cluster")
}

// The same seed draws the same, and every one is drawn sometime.
func TestDraw(t *testing.T) {
	e, _ := country(t)
	draw := func(mode string, seed uint64) string {
		l, err := e.Plan(t.Context(), fault.Request{Kind: "vm.nothing", Mode: mode, Seed: seed})
		if err != nil {
			t.Fatal(err)
		}
		return chosen(l)
	}
	seen := map[string]int{}
	for seed := range uint64(600) {
		first := draw("one", seed+1)
		if again := draw("one", seed+1); again != first {
			t.Fatalf("seed %d draws %s, then %s", seed, first, again)
		}
		seen[first]++
	}
	for name, n := range seen {
		if n < 60 || len(seen) != 6 {
			t.Errorf("%s was drawn %d times of 600, of %d", name, n, len(seen))
		}
	}
	for mode, want := range map[string]int{"2": 2, "1%": 1, "17%": 2, "50%": 3, "51%": 4, "100%": 6, "33.4%": 3} {
		if got := len(strings.Fields(draw(mode, 3))); got != want {
			t.Errorf("%s is %d, want %d", mode, got, want)
		}
	}
	a, err := e.Plan(t.Context(), fault.Request{Kind: "vm.nothing", Mode: "one"})
	if err != nil || a.Seed == 0 {
		t.Fatal(a, err)
	}
	if again := draw("one", a.Seed); again != chosen(a) {
		t.Errorf("the seed that it told draws %s, not %s", again, chosen(a))
	}
}
