package topology_test

import (
	"fmt"
	"net/netip"
	"regexp"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/topology"
)

// header begins a topology; what follows is the list of vCenters, indented by four.
const header = `apiVersion: sandbox.vsphere/v1alpha1
kind: Topology
metadata: {name: test}
spec:
  vcenters:
`

func load(t *testing.T, text string) *topology.Topology {
	t.Helper()
	loaded, err := topology.Load("test.yaml", []byte(text))
	if err != nil {
		t.Fatal(err)
	}
	return loaded
}

// twins are two vCenters that differ in nothing but their names.
func twins(vms int) string {
	var b strings.Builder
	b.WriteString(header)
	for _, name := range []string{"one", "two"} {
		fmt.Fprintf(&b, "    - {name: %s, datacenters: [{name: dc, hosts: [{name: esx}], vms: [{name: w, replicas: %d}]}]}\n", name, vms)
	}
	return b.String()
}

// identitiesOf gathers everything that must be unique, each with its kind.
func identitiesOf(t *topology.Topology) []string {
	var all []string
	for _, vcenter := range t.Spec.VCenters {
		all = append(all, "vcenter "+vcenter.InstanceUUID)
	}
	for ref := range t.AllVMs() {
		all = append(all, "bios "+ref.VM.UUID, "instance "+ref.VM.InstanceUUID)
		for _, nic := range ref.VM.NICs {
			all = append(all, "mac "+nic.MAC)
			for _, address := range nic.Addresses {
				all = append(all, "ip "+address)
			}
		}
	}
	return all
}

func TestIdentitiesUniqueAndWellFormed(t *testing.T) {
	forms := map[string]*regexp.Regexp{
		"vcenter":  regexp.MustCompile(`^[0-9a-f]{8}-[0-9a-f]{4}-5[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$`),
		"bios":     regexp.MustCompile(`^[0-9a-f]{8}-[0-9a-f]{4}-5[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$`),
		"instance": regexp.MustCompile(`^[0-9a-f]{8}-[0-9a-f]{4}-5[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$`),
		"mac":      regexp.MustCompile(`^00:50:56:[0-3][0-9a-f]:[0-9a-f]{2}:[0-9a-f]{2}$`),
		"ip":       regexp.MustCompile(`^198\.1[89]\.\d+\.\d+/15$`),
	}
	seen := map[string]bool{}
	// Enough that hashes into 131072 addresses collide thousands of times.
	for _, identity := range identitiesOf(load(t, twins(15_000))) {
		kind, value, _ := strings.Cut(identity, " ")
		if !forms[kind].MatchString(value) {
			t.Fatalf("%s %q is not of the form %s", kind, value, forms[kind])
		}
		if kind == "ip" {
			if last := netip.MustParsePrefix(value).Addr().As4()[3]; last < 2 || last == 255 {
				t.Fatalf("derived %s", value)
			}
		}
		if seen[identity] {
			t.Fatalf("%s is there twice", identity)
		}
		seen[identity] = true
	}
}

func TestIdentitiesStable(t *testing.T) {
	first, second := identitiesOf(load(t, twins(500))), identitiesOf(load(t, twins(500)))
	if diff := cmp.Diff(first, second); diff != "" {
		t.Errorf("the same file gave other identities:\n%s", diff)
	}
}

// A larger group keeps what the smaller one had, so that scaling a topology does not replace its machines.
func TestIdentitiesSurviveScaling(t *testing.T) {
	small, large := load(t, twins(3)), load(t, twins(4))
	for i, vm := range small.Spec.VCenters[0].Datacenters[0].VMs {
		if diff := cmp.Diff(vm, large.Spec.VCenters[0].Datacenters[0].VMs[i]); diff != "" {
			t.Errorf("VM %d changed (-3 replicas +4 replicas):\n%s", i, diff)
		}
	}
}

func TestIdentitiesFollowSeed(t *testing.T) {
	seeded := strings.Replace(twins(1), "spec:\n", "spec:\n  seed: other\n", 1)
	first, second := identitiesOf(load(t, twins(1))), identitiesOf(load(t, seeded))
	for i := range first {
		if first[i] == second[i] {
			t.Errorf("%s is the same with another seed", first[i])
		}
	}
}

// What a file gives is left alone, and what is derived gives way to it even when it comes later.
func TestIdentitiesGivenComeFirst(t *testing.T) {
	derived := load(t, header+"    - {name: vc, datacenters: [{name: dc, hosts: [{name: esx}], vms: [{name: a}]}]}\n")
	a := derived.Spec.VCenters[0].Datacenters[0].VMs[0]
	text := header + fmt.Sprintf("    - {name: vc, datacenters: [{name: dc, hosts: [{name: esx}], vms: [{name: a}, "+
		"{name: thief, uuid: %s, instanceUUID: %s, nics: [{mac: %q, addresses: [%s]}]}]}]}\n",
		a.UUID, a.InstanceUUID, a.NICs[0].MAC, a.NICs[0].Addresses[0])
	contested := load(t, text).Spec.VCenters[0].Datacenters[0].VMs
	if got := contested[1]; got.UUID != a.UUID || got.InstanceUUID != a.InstanceUUID || !cmp.Equal(got.NICs, a.NICs) {
		t.Errorf("given identities were changed: %+v", got)
	}
	if got := contested[0]; got.UUID == a.UUID || got.InstanceUUID == a.InstanceUUID ||
		got.NICs[0].MAC == a.NICs[0].MAC || got.NICs[0].Addresses[0] == a.NICs[0].Addresses[0] {
		t.Errorf("a derived identity repeats a given one: %+v", got)
	}
}

func TestAddressesExhausted(t *testing.T) {
	var nics strings.Builder
	// 253 of 256 addresses are given out: 129536.
	for range 7 {
		nics.WriteString("{}, ")
	}
	_, err := topology.Load("full.yaml", []byte(header+
		"    - {name: vc, datacenters: [{name: dc, hosts: [{name: esx}], vms: [{name: w, replicas: 18520, nics: ["+nics.String()+"]}]}]}\n"))
	if err == nil || !strings.Contains(err.Error(), "198.18.0.0/15 is used up") {
		t.Errorf("129640 NICs in 129536 addresses: %v", err)
	}
}
