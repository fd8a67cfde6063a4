package csi

import (
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"

	"github.com/vsphere-sandbox/vsphere-sandbox/internal/program"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/sandbox/supervisor"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/topology"
)

// flat lists rights as group/resource/verb, in order.
func flat(rules []rbacv1.PolicyRule) (all []string) {
	for _, r := range rules {
		for _, group := range r.APIGroups {
			for _, resource := range r.Resources {
				for _, verb := range r.Verbs {
					all = append(all, group+"/"+resource+"/"+verb)
				}
			}
		}
	}
	slices.Sort(all)
	return slices.Compact(all)
}

// TestUpstreamGuestRights: rights and switches of the guest flavor are those of upstream's manifest, where this machine has its module.
func TestUpstreamGuestRights(t *testing.T) {
	out, err := exec.CommandContext(t.Context(), "go", "env", "GOMODCACHE").Output()
	if err != nil {
		t.Skip("no Go")
	}
	text, err := os.ReadFile(filepath.Join(strings.TrimSpace(string(out)), "sigs.k8s.io", "vsphere-csi-driver", "v3@v3.7.0", "manifests", "guestcluster", "1.34", "pvcsi.yaml"))
	if err != nil {
		t.Skip("the module of upstream's driver is not in the cache")
	}
	want, err := readRights([]byte(strings.ReplaceAll(string(text), "{{ .PVCSINamespace }}", "vmware-system-csi")), controllerContainer)
	if err != nil {
		t.Fatal(err)
	}
	got := upstreamGuestRights()
	theirs := slices.DeleteFunc(flat(want.cluster), func(r string) bool { return strings.HasPrefix(r, "policy/podsecuritypolicies/") }) // which Kubernetes removed
	if diff := cmp.Diff(theirs, flat(got.cluster)); diff != "" {
		t.Errorf("rights (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff(want.features, got.features); diff != "" {
		t.Errorf("switches (-want +got):\n%s", diff)
	}
}

// TestGuestRights: a driver of another project gets the switches of both flavors' ConfigMaps in a guest cluster only.
func TestGuestRights(t *testing.T) {
	switches := func(guest bool) (all []string) {
		made, err := Options{Manifest: []byte(manifest)}.rights(guest)
		if err != nil {
			t.Fatal(err)
		}
		for _, o := range made {
			if c, ok := o.(*corev1.ConfigMap); ok {
				all = append(all, c.Name+" "+c.Data["tkgs-ha"])
			}
		}
		return all
	}
	if diff := cmp.Diff([]string{features + " true", supervisorFeatures + " true"}, switches(true)); diff != "" {
		t.Errorf("in a guest cluster (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff([]string{features + " "}, switches(false)); diff != "" {
		t.Errorf("elsewhere (-want +got):\n%s", diff)
	}
}

// TestAsGuest: drivers of other projects ask the Supervisor, with StorageClasses for the policies of the guest cluster's namespace.
func TestAsGuest(t *testing.T) {
	top := &topology.Topology{}
	top.Spec.Supervisor = &topology.Supervisor{
		Namespaces:    []topology.SupervisorNamespace{{Name: "other", StoragePolicies: []string{"No"}}, {Name: "ns", StoragePolicies: []string{"Gold SSD", "slow"}}},
		GuestClusters: []topology.GuestCluster{{Name: "guest", Namespace: "ns"}},
	}
	d := &Driver{Topology: top, Guest: func() (supervisor.Environment, error) {
		return supervisor.Environment{Guest: "guest", Dir: "/guest", Address: "127.0.3.252", Port: 6443, HostEtc: "/host-etc"}, nil
	}}
	theirs, ours := Options{Program: program.Program{Path: "/theirs"}}, Options{Program: program.Program{Path: "/ours", Own: true}}
	if !d.asGuest(theirs) || d.asGuest(ours) || d.asGuest(Options{}) || (&Driver{}).asGuest(theirs) {
		t.Error("the wrong drivers ask the Supervisor")
	}
	var names []string
	for _, c := range d.classes(theirs) {
		names = append(names, c.Name+" "+c.Parameters["svStorageClass"]+" "+string(*c.VolumeBindingMode)+" "+c.Annotations["storageclass.kubernetes.io/is-default-class"])
	}
	want := []string{"gold-ssd gold-ssd Immediate ", "gold-ssd-latebinding gold-ssd WaitForFirstConsumer true", "slow slow Immediate ", "slow-latebinding slow WaitForFirstConsumer "}
	if diff := cmp.Diff(want, names); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}
