package inventory

import (
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/provider/tagged"
)

// attachedTo parses "Datacenter:dc=name" pairs.
func attachedTo(pairs ...string) tagged.Objects {
	a := tagged.Objects{}
	for _, p := range pairs {
		object, tag, _ := strings.Cut(p, "=")
		kind, value, _ := strings.Cut(object, ":")
		a.Add(ref(kind, value), tag)
	}
	return a
}

// Where upstream has one possible result, parity returns it.
func TestZoneParity(t *testing.T) {
	for _, tc := range []struct {
		name         string
		region, zone tagged.Objects
		want, parity Zone
	}{
		{
			"zone twice below the region", attachedTo("Folder:us=r"),
			attachedTo("ClusterComputeResource:cluster=near", "Datacenter:dc=far"),
			Zone{"r", "near"},
			Zone{"r", "far"},
		},
		{
			"region twice below the zone", attachedTo("HostSystem:host=near", "Datacenter:dc=far"),
			attachedTo("Folder:us=z"),
			Zone{"near", "z"},
			Zone{"far", "z"},
		},
		{
			"second zone where the region is: luck in upstream", attachedTo("Datacenter:dc=r"),
			attachedTo("ClusterComputeResource:cluster=near", "Datacenter:dc=far"),
			Zone{"r", "near"},
			Zone{"r", "near"},
		},
		{
			"both at once", attachedTo("HostSystem:host=r", "Datacenter:dc=far"),
			attachedTo("HostSystem:host=z", "Datacenter:dc=far"),
			Zone{"r", "z"},
			Zone{"r", "z"},
		},
	} {
		t.Run(tc.name, func(t *testing.T) {
			inv, f := offline(t, Categories{Region: "k8s-region", Zone: "k8s-zone"})
			vm := tree(f)
			inv.members[0].tags.state.Store(&tagState{region: tc.region, zone: tc.zone, readAt: time.Now()})
			for parity, want := range map[bool]Zone{false: tc.want, true: tc.parity} {
				inv.cfg.ParityUpstream = parity
				if got, err := inv.Zone(vm); err != nil || got != want {
					t.Errorf("parity %v: %v, %v, want %v", parity, got, err, want)
				}
			}
		})
	}
}

// A miss lists the objects, in the order of the walks and once each, and their tags.
func TestMissingTagSays(t *testing.T) {
	inv, f := offline(t, Categories{Region: "k8s-region", Zone: "k8s-zone"})
	vm := tree(f)
	dc := ref("Datacenter", "dc")
	inv.members[0].tags.state.Store(&tagState{
		region: tagged.Objects{dc: {"r1", "r2"}, ref("Datacenter", "elsewhere"): {"r3"}}, readAt: time.Now(), err: errors.New("503"),
	})
	_, err := inv.Zone(vm)
	var missing *MissingTagError
	if !errors.As(err, &missing) {
		t.Fatalf("got %v", err)
	}
	want := &MissingTagError{
		VM: vm, Categories: []string{`"k8s-zone"`}, Found: Zone{Region: "r1"},
		Visited: []string{
			`HostSystem "host"`, `ClusterComputeResource "cluster"`, `Folder "hosts"`, `Datacenter "dc"`, `Folder "us"`, `Folder "root"`,
			`ResourcePool "team"`, `ResourcePool "resources"`, `VirtualMachine "vm-1"`, `Folder "k8s"`, `Folder "vms"`,
		},
		Tags: []string{`"r1" (k8s-region) on Datacenter "dc"`, `"r2" (k8s-region) on Datacenter "dc"`},
	}
	if diff := cmp.Diff(want, missing, cmp.Comparer(func(a, b *VM) bool { return a == b }), cmp.FilterPath(func(p cmp.Path) bool {
		return p.Last().String() == ".Err"
	}, cmp.Ignore())); diff != "" {
		t.Error(diff)
	}
	for _, part := range []string{`"k8s-zone"`, `Datacenter "dc"`, `found "r1" (k8s-region) on Datacenter "dc", "r2"`, "503"} {
		if !strings.Contains(err.Error(), part) {
			t.Errorf("%s: nothing of %s", err, part)
		}
	}
}
