package check_test

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"

	"github.com/vsphere-sandbox/vsphere-sandbox/internal/migrate/check"
)

// TestRun has a cluster of the in-tree provider with most of what can be wrong with it.
func TestRun(t *testing.T) {
	zoned := volume("zoned", "[shared] kubevols/zoned.vmdk")
	zoned.Labels = map[string]string{corev1.LabelFailureDomainBetaZone: "a", corev1.LabelFailureDomainBetaRegion: "eu"}
	loose := volume("loose", "[other] kubevols/loose.vmdk")
	loose.Status.Phase, loose.Spec.ClaimRef = corev1.VolumeReleased, nil
	r := start(t, controller("--cloud-provider=vsphere"), volume("data", "[shared] kubevols/data.vmdk"), volume("gone", "[shared] kubevols/gone.vmdk"), zoned, loose,
		volume("bad", "data.vmdk"), volume("far", "[elsewhere] kubevols/far.vmdk"), pod("db-0", "claim-data"),
		class("old", map[string]string{"datastore": "shared", "diskformat": "thin"}))
	for _, file := range []string{"kubevols/data.vmdk", "kubevols/zoned.vmdk"} {
		r.makeDisk(t, "shared", file)
	}
	r.makeDisk(t, "other", "kubevols/loose.vmdk")
	report := r.run(t, nil)
	for id, want := range map[string]string{
		"disk-uuid":           "fail 1 of 3 VMs do not have disk.enableUUID: worker-2",
		"hardware-version":    "fail 1 of 3 VMs have a hardware version older than 15: worker-2",
		"tools":               "pass 0 of 3 VMs run without VMware Tools",
		"nodes":               "pass 3 of 3 nodes",
		"node-uuid":           "warn 1 of 3 nodes: worker-2 has the UUID of its VM in the other byte order",
		"kubernetes-version":  "warn v1.24.17",
		"control-plane-flags": "warn --cloud-provider=vsphere: kube-controller-manager on cp-1",
		"ccm":                 "warn no cloud controller manager holds",
		"pv":                  "pass 6 volumes of the in-tree provider: 1 used by pods, 0 attached",
		"pv-translation":      `fail 1 of 6 volumes cannot be handed to the CSI driver: bad (path "data.vmdk"`,
		"pv-disks":            "fail 1 of 6 volumes have no disk where they say: gone ([shared] kubevols/gone.vmdk)",
		"pv-claims":           "warn 1 of 6 volumes are not bound to a claim: loose (Released)",
		"pv-topology":         "warn 1 of 6 volumes are bound to a zone",
		"storage-classes":     "warn 1 of 1 classes are of kubernetes.io/vsphere-volume: old",
		"csi-driver":          "warn csi.vsphere.vmware.com is on 0 of 3 nodes, and there is no CSIDriver",
		"csi-migrated":        "warn the kubelets of 0 of 3 nodes",
		"tags-twice":          "pass ",
		"privileges-csi-vm":   "pass ",
	} {
		f := found(t, report, id)
		if got := string(f.Verdict) + " " + f.Found; !strings.HasPrefix(got, want) {
			t.Errorf("%s: %s, want %s", id, got, want)
		}
		if f.Verdict != check.Pass && (f.Why == "" || f.Try == "") {
			t.Errorf("%+v does not say why, or what to try", f)
		}
	}
	want := map[string]string{
		"data": "vc found", "gone": "vc missing", "zoned": "vc found", "loose": "vc found", "far": " unknown: no vCenter that answers has its datastore",
		"bad": " unknown: path \"data.vmdk\" is not [DATASTORE] FOLDER/FILE.vmdk",
	}
	got := map[string]string{}
	for _, v := range report.Volumes {
		got[v.Name] = v.VCenter + " " + v.Disk
		if v.Name == "zoned" {
			topology := map[string]string{"topology.csi.vmware.com/zone": "a", "topology.csi.vmware.com/region": "eu"}
			if d := cmp.Diff(topology, v.Topology); d != "" {
				t.Error(d)
			}
		}
		if v.Name == "data" && (v.Handle != v.Path || v.Pods[0] != "app/db-0") {
			t.Errorf("%+v", v)
		}
	}
	if d := cmp.Diff(want, got); d != "" {
		t.Error(d)
	}
	if !report.InTree || len(report.VCenters) != 1 || report.VCenters[0].Datastores["shared"] == "" {
		t.Errorf("%+v", report.VCenters)
	}
	if k := report.Classes[0]; k.CSI["datastore-migrationparam"] != "shared" || k.CSI["csimigration"] != "true" {
		t.Errorf("%+v", k)
	}
}
