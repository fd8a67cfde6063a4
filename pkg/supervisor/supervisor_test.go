package supervisor

import (
	"encoding/json"
	"net/netip"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
)

// TestDefinitions: every definition has a name of its plural and its group, one stored version, its own status in all of them, and the
// status of one that is served.
func TestDefinitions(t *testing.T) {
	paths, err := definitions.ReadDir("crds")
	all := Definitions()
	if err != nil || len(all) != len(paths) {
		t.Fatalf("%d definitions of %d files, %v", len(all), len(paths), err)
	}
	for name, body := range all {
		var d struct {
			Metadata struct{ Name string }
			Spec     struct {
				Group    string
				Names    struct{ Plural string }
				Versions []struct {
					Name            string
					Served, Storage bool
					Subresources    map[string]any
					Schema          struct{ OpenAPIV3Schema map[string]any }
				}
			}
			Status struct {
				AcceptedNames  struct{ Plural, Singular, Kind, ListKind string }
				StoredVersions []string
				Conditions     []map[string]any
			}
		}
		if err := json.Unmarshal(body, &d); err != nil {
			t.Fatal(err)
		}
		if at, err := time.Parse(timeFormat, text(&unstructured.Unstructured{Object: d.Status.Conditions[1]}, "lastTransitionTime")); err != nil || time.Since(at) < 10*time.Second {
			t.Errorf("%s: an API server waits before it creates objects of it: %v, %v", name, at, err)
		}
		if o := new(unstructured.Unstructured); o.UnmarshalJSON(body) != nil || !established(o) || o.GetUID() == "" {
			t.Errorf("%s is not served: %s", name, body)
		}
		if n := d.Status.AcceptedNames; n.Plural != d.Spec.Names.Plural || n.ListKind != n.Kind+"List" || n.Singular != strings.ToLower(n.Kind) {
			t.Errorf("%s: accepted names %+v", name, n)
		}
		if want := d.Spec.Names.Plural + "." + d.Spec.Group; d.Metadata.Name != want {
			t.Errorf("%s, want %s", d.Metadata.Name, want)
		}
		stored := 0
		var versions []string
		for _, v := range d.Spec.Versions {
			versions = append(versions, v.Name)
			if v.Storage {
				stored++
				if !slices.Equal(d.Status.StoredVersions, []string{v.Name}) {
					t.Errorf("%s: stored versions %v, want %s", name, d.Status.StoredVersions, v.Name)
				}
			}
			if v.Subresources["status"] == nil || v.Schema.OpenAPIV3Schema["type"] != "object" || !v.Served {
				t.Errorf("%s: version %s is %+v", d.Metadata.Name, v.Name, v)
			}
		}
		if stored != 1 {
			t.Errorf("%s: %d stored versions", d.Metadata.Name, stored)
		}
		if d.Spec.Group == vmGroup && !slices.Contains(versions, "v1alpha2") {
			t.Errorf("%s: upstream's release asks for v1alpha2, there are %v", d.Metadata.Name, versions)
		}
	}
}

func machineObject(spec map[string]any) *unstructured.Unstructured {
	o := &unstructured.Unstructured{Object: map[string]any{"spec": spec}}
	o.SetLabels(map[string]string{ZoneLabel: "a"})
	return o
}

func addresses(list ...string) (all []netip.Addr) {
	for _, a := range list {
		all = append(all, netip.MustParseAddr(a))
	}
	return all
}

// TestStatus: the status is that of the VM, and what the guest does not report any more goes.
func TestStatus(t *testing.T) {
	o := machineObject(map[string]any{"className": "small"})
	vm := VM{
		Name: "w", UniqueID: "vm-7", BIOSUUID: "42", InstanceUUID: "50", Power: "on", Host: "esx-1", HostName: "w",
		Addresses: addresses("10.0.0.5", "fd00::5"), Tools: true, Zone: "b",
	}
	status := map[string]any{}
	fillStatus(o, status, vm)
	conditions := status["conditions"].([]any)
	delete(status, "conditions")
	want := map[string]any{
		"powerState": "PoweredOn", "uniqueID": "vm-7", "biosUUID": "42", "instanceUUID": "50", "nodeName": "esx-1", "host": "esx-1", "zone": "a",
		"class": map[string]any{"apiVersion": "vmoperator.vmware.com/v1alpha5", "kind": "VirtualMachineClass", "name": "small"},
		"network": map[string]any{
			"primaryIP4": "10.0.0.5", "hostName": "w",
			"interfaces": []any{map[string]any{"name": "eth0", "deviceKey": int64(4000), "ip": map[string]any{
				"addresses": []any{map[string]any{"address": "10.0.0.5"}, map[string]any{"address": "fd00::5"}},
			}}},
		},
	}
	if diff := cmp.Diff(want, status); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	if got := statusOf(conditions, "VirtualMachineTools"); got != "True" {
		t.Errorf("tools: %s", got)
	}
	vm.Power, vm.Addresses, vm.Tools = "off", nil, false
	fillStatus(o, status, vm)
	if status["powerState"] != "PoweredOff" || status["network"] != nil || statusOf(status["conditions"].([]any), "VirtualMachineTools") != "False" {
		t.Errorf("after the power-off: %v", status)
	}
}

// TestPrimaryAddresses: only a VM with cloud-init has primary addresses of both families.
func TestPrimaryAddresses(t *testing.T) {
	cloudInit := map[string]any{"bootstrap": map[string]any{"cloudInit": map[string]any{}}}
	for name, tc := range map[string]struct {
		spec      map[string]any
		addresses []string
		v4, v6    any
	}{
		"cloud-init, both": {cloudInit, []string{"fd00::5", "10.0.0.5", "10.0.0.6"}, "10.0.0.5", "fd00::5"},
		"cloud-init, one":  {cloudInit, []string{"fd00::5"}, nil, "fd00::5"},
		"none, IPv6 first": {map[string]any{}, []string{"fd00::5", "10.0.0.5"}, nil, "fd00::5"},
		"none, IPv4 first": {map[string]any{}, []string{"10.0.0.5", "fd00::5"}, "10.0.0.5", nil},
	} {
		status := map[string]any{}
		fillNetwork(machineObject(tc.spec), status, VM{Addresses: addresses(tc.addresses...)})
		network := status["network"].(map[string]any)
		if network["primaryIP4"] != tc.v4 || network["primaryIP6"] != tc.v6 {
			t.Errorf("%s: %v and %v, want %v and %v", name, network["primaryIP4"], network["primaryIP6"], tc.v4, tc.v6)
		}
	}
}

func statusOf(conditions []any, kind string) string {
	for _, c := range conditions {
		if m := c.(map[string]any); m["type"] == kind {
			return m["status"].(string)
		}
	}
	return ""
}

// TestCondition: the time of a condition changes with its status only.
func TestCondition(t *testing.T) {
	const old = "2026-01-01T00:00:00Z"
	status := map[string]any{"conditions": []any{condition("Ready", "True", "A", "", old), condition("Other", "True", "A", "", old)}}
	at := func() string {
		for _, c := range status["conditions"].([]any) {
			if m := c.(map[string]any); m["type"] == "Ready" {
				return m["lastTransitionTime"].(string)
			}
		}
		return ""
	}
	setCondition(status, "Ready", "True", "B", "text")
	if at() != old {
		t.Errorf("the same status has another time: %s", at())
	}
	setCondition(status, "Ready", "False", "C", "")
	if at() == old || len(status["conditions"].([]any)) != 2 {
		t.Errorf("another status: %v", status)
	}
}

// TestPool: an owner keeps its address, gets the one that it wants if that is free, and none of an empty pool.
func TestPool(t *testing.T) {
	p := newPool(addresses("127.1.0.101", "127.1.0.102", "127.1.0.103"))
	take := func(owner, want string) string {
		a, err := p.take(owner, want)
		if err != nil {
			return err.Error()
		}
		return a.String()
	}
	for _, tc := range []struct{ owner, want, got string }{
		{"a", "", "127.1.0.101"},
		{"a", "", "127.1.0.101"},
		{"b", "127.1.0.103", "127.1.0.103"},
		{"c", "127.1.0.103", "the address 127.1.0.103 is in use by b"},
		{"c", "10.0.0.1", "the load balancer has no address 10.0.0.1"},
		{"c", "", "127.1.0.102"},
		{"d", "", errPoolEmpty.Error()},
	} {
		if got := take(tc.owner, tc.want); got != tc.got {
			t.Errorf("%s wants %q: %s, want %s", tc.owner, tc.want, got, tc.got)
		}
	}
	p.release("a")
	if got := take("b", "127.1.0.101"); got != "127.1.0.101" {
		t.Errorf("b moves: %s", got)
	}
	p.setEmpty(true)
	if got := take("e", ""); got != errPoolEmpty.Error() {
		t.Errorf("an empty pool gives %s", got)
	}
	if got := take("b", ""); got != "127.1.0.101" {
		t.Errorf("an empty pool takes addresses away: %s", got)
	}
	p.setEmpty(false)
	if got := take("e", ""); got != "127.1.0.103" {
		t.Errorf("e: %s", got)
	}
}

// TestBlocks: networks do not overlap, and an owner keeps its own.
func TestBlocks(t *testing.T) {
	b := newBlocks()
	for _, tc := range []struct {
		owner string
		bits  int
		want  string
	}{
		{"a", 24, "172.26.0.0/24"}, {"b", 24, "172.26.1.0/24"}, {"a", 24, "172.26.0.0/24"}, {"c", 23, "172.26.2.0/23"}, {"d", 24, "172.26.4.0/24"},
	} {
		if got, err := b.take(tc.owner, tc.bits); err != nil || got.String() != tc.want {
			t.Errorf("%s: %v, %v, want %s", tc.owner, got, err, tc.want)
		}
	}
	b.release("b")
	if got, err := b.take("e", 24); err != nil || got.String() != "172.26.1.0/24" {
		t.Errorf("e: %v, %v", got, err)
	}
	if _, err := b.take("f", 8); err == nil {
		t.Error("a network larger than all")
	}
}

// TestRights: a guest cluster cannot change VirtualMachines, and has nothing of Secrets.
func TestRights(t *testing.T) {
	for _, rule := range Rights() {
		if slices.Contains(rule.APIGroups, "") || slices.Contains(rule.Resources, "*") || slices.Contains(rule.Verbs, "*") {
			t.Errorf("%+v", rule)
		}
		if slices.Contains(rule.Resources, "virtualmachines") && slices.ContainsFunc(rule.Verbs, func(v string) bool { return !slices.Contains([]string{"get", "list", "watch"}, v) }) {
			t.Errorf("VirtualMachines: %v", rule.Verbs)
		}
	}
}

// TestSize: a class has the size in its name.
func TestSize(t *testing.T) {
	for name, want := range map[string]int64{"best-effort-xsmall": 2048, "guaranteed-large": 16384, "best-effort-2xlarge": 65536, "tiny": 4096} {
		if _, memory := size(name); memory != want {
			t.Errorf("%s has %d MiB, want %d", name, memory, want)
		}
	}
	if got := biosUUID("99d533a7-94c3-49c4-bae1-4318e549ddc5"); !strings.HasPrefix(got, "42d533a7-") {
		t.Errorf("BIOS UUID %s", got)
	}
}
