package topology_test

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/topology"
)

// withSupervisor is a topology with two zones, a storage policy and a value of spec.supervisor.
func withSupervisor(supervisor string) string {
	return strings.Replace(header, "spec:\n", "spec:\n  supervisor: "+supervisor+"\n  tagCategories: [{name: storage}]\n", 1) +
		"    - {name: vc, policies: [{name: gold, tags: [{category: storage, name: gold}]}], datacenters: [{name: dc, hosts: [{name: esx-a, zone: a}, {name: esx-b, zone: b}]}]}\n"
}

// TestSupervisor: a Supervisor has one namespace with everything and one guest cluster by default, and a topology without one has none.
func TestSupervisor(t *testing.T) {
	classes := []string{"best-effort-small", "best-effort-medium", "best-effort-large"}
	for text, want := range map[string]*topology.Supervisor{
		"{}": {
			Namespaces:    []topology.SupervisorNamespace{{Name: "workloads", Zones: []string{"a", "b"}, StoragePolicies: []string{"gold"}, Classes: classes}},
			GuestClusters: []topology.GuestCluster{{Name: "test", Namespace: "workloads"}},
			Network:       topology.NetworkVDS,
		},
		`{network: vpc, namespaces: [{name: one, zones: [b], classes: [tiny]}, {name: two}], guestClusters: [{name: g, namespace: two}]}`: {
			Namespaces: []topology.SupervisorNamespace{
				{Name: "one", Zones: []string{"b"}, StoragePolicies: []string{"gold"}, Classes: []string{"tiny"}},
				{Name: "two", Zones: []string{"a", "b"}, StoragePolicies: []string{"gold"}, Classes: classes},
			},
			GuestClusters: []topology.GuestCluster{{Name: "g", Namespace: "two"}},
			Network:       topology.NetworkVPC,
		},
	} {
		got := load(t, withSupervisor(text)).Spec.Supervisor
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("%s (-want +got):\n%s", text, diff)
		}
	}
	if got := load(t, withNSX("{}")).Spec.Supervisor; got != nil {
		t.Errorf("a topology without supervisor has %+v", got)
	}
}

// TestSupervisorRefused: each mistake is reported with its field, and with what was meant.
func TestSupervisorRefused(t *testing.T) {
	for text, want := range map[string]string{
		`{namespaces: [{name: n, zones: [c]}]}`:                                 "spec.supervisor.namespaces[0].zones[0]: is no zone: \"c\"",
		`{namespaces: [{name: n, storagePolicies: [golf]}]}`:                    `did you mean "gold"`,
		`{namespaces: [{name: n}, {name: n}]}`:                                  "spec.supervisor.namespaces[1].name: occurs twice",
		`{namespaces: [{name: kube-system}]}`:                                   "must not be one of Kubernetes' own",
		`{namespaces: [{}]}`:                                                    "spec.supervisor.namespaces[0].name",
		`{namespaces: [{name: n, classes: ["a b"]}]}`:                           "spec.supervisor.namespaces[0].classes[0]",
		`{guestClusters: [{name: g, namespace: other}]}`:                        "spec.supervisor.guestClusters[0].namespace: is no namespace of the Supervisor",
		`{guestClusters: [{name: a}, {name: b}]}`:                               "has 2: a sandbox has one cluster",
		`{guestClusters: [{name: a12345678901234567890123456789012345678901}]}`: "has more than 41 characters",
		`{network: vcp}`:     `did you mean "vpc"`,
		`{guestCluster: []}`: "guestCluster",
	} {
		_, err := topology.Load("t.yaml", []byte(withSupervisor(text)))
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, want %q", text, err, want)
		}
	}
	for text, want := range map[string]string{
		"    - {name: vc, datacenters: [{name: dc, hosts: [{name: esx}]}]}\n":                                                                                       "needs zones",
		"    - {name: vc, datacenters: [{name: dc, hosts: [{name: esx, zone: a}]}]}\n    - {name: vc2, datacenters: [{name: dc, hosts: [{name: esx, zone: a}]}]}\n": "this one has 2",
	} {
		_, err := topology.Load("t.yaml", []byte(strings.Replace(header, "spec:\n", "spec:\n  supervisor: {}\n", 1)+text))
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%v, want %q", err, want)
		}
	}
}
