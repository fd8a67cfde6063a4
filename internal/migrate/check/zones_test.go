package check_test

import (
	"strings"
	"testing"

	coordinationv1 "k8s.io/api/coordination/v1"
	corev1 "k8s.io/api/core/v1"
	storagev1 "k8s.io/api/storage/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	clienttesting "k8s.io/client-go/testing"

	"github.com/vsphere-sandbox/vsphere-sandbox/internal/migrate/check"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/sim"
)

// expect compares findings with "verdict beginning of what was found", by check.
func expect(t *testing.T, r *check.Report, want map[string]string) {
	t.Helper()
	for id, text := range want {
		f := found(t, r, id)
		if got := string(f.Verdict) + " " + f.Found; !strings.HasPrefix(got, text) {
			t.Errorf("%s: %s, want %s", id, got, text)
		}
	}
}

func labeled(name, uuid, region, zone, oldRegion, oldZone string) *corev1.Node {
	n := node(name, uuid, false)
	n.Labels = map[string]string{}
	for key, value := range map[string]string{
		corev1.LabelTopologyRegion: region, corev1.LabelTopologyZone: zone,
		corev1.LabelFailureDomainBetaRegion: oldRegion, corev1.LabelFailureDomainBetaZone: oldZone,
	} {
		if value != "" {
			n.Labels[key] = value
		}
	}
	return n
}

// TestLabels has the labels of both generations in all their relations.
func TestLabels(t *testing.T) {
	r := &rig{Lab: sim.Start(t, site)}
	const cp, one, two = "42100000-0000-4000-8000-000000000001", "42100000-0000-4000-8000-000000000002", "42100000-0000-4000-8000-000000000003"
	r.client = cluster("v1.30.2", labeled("cp-1", cp, "eu", "a", "eu", "a"), labeled("worker-1", one, "", "", "eu", "a"))
	expect(t, r.run(t, nil), map[string]string{"node-labels": "warn 1 of 2 nodes have labels of failure-domain.beta.kubernetes.io only: worker-1", "kubernetes-version": "pass v1.30.2"})
	r.client = cluster("v1.25.0", labeled("cp-1", cp, "eu", "a", "eu", "b"), labeled("worker-1", one, "eu", "a", "eu", "a"))
	expect(t, r.run(t, nil), map[string]string{
		"node-labels":        "warn 1 of 2 nodes have labels of failure-domain.beta.kubernetes.io that are not those of topology.kubernetes.io: cp-1 (eu/b, eu/a)",
		"node-old-zones":     "warn 1 of 2 nodes have old labels that are not the tags of their VMs: cp-1 (eu/b, tags eu/a)",
		"kubernetes-version": "pass v1.25.0",
	})
	r.client = cluster("", labeled("worker-2", two, "eu", "a", "eu", "a"))
	expect(t, r.run(t, nil), map[string]string{"node-labels": "pass 1 of 1 nodes have labels", "kubernetes-version": `warn version "" of the API server is not known`})
	r.client = cluster("v1.30.2", labeled("worker-2", two, "eu", "a", "", ""))
	expect(t, r.run(t, nil), map[string]string{"node-labels": "pass 1 node: none has a label"})
}

// TestTags has tags twice, on the VM alone, in contradiction, and where they have no effect.
func TestTags(t *testing.T) {
	r := &rig{Lab: sim.Start(t, `
apiVersion: sandbox.vsphere/v1alpha1
kind: Topology
metadata: {name: tags}
spec:
  tagCategories: [{name: k8s-zone, cardinality: multiple}, {name: k8s-region}]
  vcenters:
    - name: vc
      datacenters:
        - name: dc
          region: eu
          datastores: [{name: shared, capacity: 1Ti, tags: [{category: k8s-zone, name: a}]}]
          clusters:
            - {name: c1, tags: [{category: k8s-zone, name: a}, {category: k8s-zone, name: b}], hosts: [{name: h1}]}
            - {name: c2, hosts: [{name: h2}]}
            - {name: c3, zone: c, hosts: [{name: h3}]}
          vms:
            - {name: worker-1, cluster: c1, uuid: 42100000-0000-4000-8000-000000000001}
            - {name: worker-2, cluster: c2, uuid: 42100000-0000-4000-8000-000000000002, tags: [{category: k8s-zone, name: a}]}
            - {name: worker-3, cluster: c3, uuid: 42100000-0000-4000-8000-000000000003, tags: [{category: k8s-zone, name: a}]}
`)}
	r.client = cluster("v1.30.2", node("worker-1", "42100000-0000-4000-8000-000000000001", false), node("worker-2", "42100000-0000-4000-8000-000000000002", false),
		node("worker-3", "42100000-0000-4000-8000-000000000003", false))
	expect(t, r.run(t, nil), map[string]string{
		"tags-twice":      "fail 1 of ",
		"tags-place":      "warn 1 of 3 nodes have a tag on the VM, its folders or its pool alone: /dc/vm/worker-2 (k8s-zone a on /dc/vm/worker-2)",
		"tags-contradict": "warn 1 of 3 nodes have a tag on the VM, its folders or its pool that is not that of its host: /dc/vm/worker-3 (k8s-zone c on /dc/host/c3, a on /dc/vm/worker-3)",
		"tags-elsewhere":  "warn tags of regions and zones are on datastores and networks: /dc/datastore/shared (k8s-zone a)",
	})
}

// TestReader has an account that sees everything and may do nothing, which searching a datastore is more than.
func TestReader(t *testing.T) {
	r := start(t, volume("data", "[shared] kubevols/data.vmdk"))
	r.makeDisk(t, "shared", "kubevols/data.vmdk")
	reader := r.as(t, "reader@vsphere.local", "secret of reader")
	report := r.run(t, func(in *check.Input) { in.VCenters = reader })
	expect(t, report, map[string]string{
		"pv-disks":                 "warn 1 of 1 volumes have a disk that could not be looked for: data ([shared] kubevols/data.vmdk: shared: the account lacks Datastore.Browse there)",
		"privileges-csi-datastore": "warn the account lacks Datastore.FileManagement",
	})
	report = r.run(t, func(in *check.Input) { in.CSI = reader })
	expect(t, report, map[string]string{"pv-disks": "pass ", "privileges-csi-vm": "fail the account lacks", "privileges-ccm": "pass "})
	report = r.run(t, func(in *check.Input) { in.CSI = r.as(t, "reader@vsphere.local", "wrong") })
	expect(t, report, map[string]string{"login": "pass ", "login-csi": `fail vcenter "vc" at `})
}

// TestNoVCenter: without a vCenter that answers, the report still has the cluster.
func TestNoVCenter(t *testing.T) {
	r := start(t, volume("data", "[shared] kubevols/data.vmdk"))
	nowhere := r.administrator(t)
	nowhere.VCenters[0].Port = 1
	expect(t, r.run(t, func(in *check.Input) { in.VCenters = nowhere }), map[string]string{
		"reachable": "fail ", "nodes": "warn 3 of 3 nodes", "pv": "pass 1 volume", "pv-disks": "warn 1 of 1 volumes",
	})
}

// TestMigrated has a cluster that is done: only its volumes are still those of the in-tree provider.
func TestMigrated(t *testing.T) {
	zoned := volume("zoned", "[shared] kubevols/zoned.vmdk")
	zoned.Labels = map[string]string{corev1.LabelTopologyZone: "a"}
	holder := "cp-1_42"
	objects := []runtime.Object{
		zoned, volume("data", "[shared] kubevols/data.vmdk"), &storagev1.CSIDriver{ObjectMeta: metav1.ObjectMeta{Name: "csi.vsphere.vmware.com"}},
		&coordinationv1.Lease{ObjectMeta: metav1.ObjectMeta{Namespace: "kube-system", Name: "cloud-controller-manager"}, Spec: coordinationv1.LeaseSpec{HolderIdentity: &holder}},
		&storagev1.VolumeAttachment{
			ObjectMeta: metav1.ObjectMeta{Name: "a"}, Status: storagev1.VolumeAttachmentStatus{Attached: true},
			Spec: storagev1.VolumeAttachmentSpec{Attacher: "csi.vsphere.vmware.com", NodeName: "worker-1", Source: storagev1.VolumeAttachmentSource{PersistentVolumeName: new("data")}},
		},
		controller("--cloud-provider=external"),
	}
	for _, name := range []string{"cp-1", "worker-1", "worker-2"} {
		objects = append(objects, &storagev1.CSINode{
			ObjectMeta: metav1.ObjectMeta{Name: name, Annotations: map[string]string{"storage.alpha.kubernetes.io/migrated-plugins": "kubernetes.io/aws-ebs,kubernetes.io/vsphere-volume"}},
			Spec:       storagev1.CSINodeSpec{Drivers: []storagev1.CSINodeDriver{{Name: "csi.vsphere.vmware.com", NodeID: name}}},
		})
	}
	r := start(t, objects...)
	r.makeDisk(t, "shared", "kubevols/zoned.vmdk")
	r.makeDisk(t, "shared", "kubevols/data.vmdk")
	report := r.run(t, nil)
	expect(t, report, map[string]string{
		"csi-driver": "pass csi.vsphere.vmware.com is on all of 3 nodes", "csi-migrated": "pass the kubelets of all of 3 nodes", "ccm": "pass a cloud controller manager leads: cp-1_42",
		"control-plane-flags": "pass ", "pv-disks": "pass ", "pv-topology": "fail 1 of 2 volumes are bound to a zone, and no node has the labels",
		"pv": "pass 2 volumes of the in-tree provider: 0 used by pods, 1 attached", "storage-classes": "pass 0 classes: none",
	})
}

// TestForbidden has a user who may see nodes and nothing else, and one who may not even see these.
func TestForbidden(t *testing.T) {
	r := start(t)
	deny := func(resource string) {
		r.client.PrependReactor("*", resource, func(a clienttesting.Action) (bool, runtime.Object, error) {
			return true, nil, apierrors.NewForbidden(schema.GroupResource{Resource: a.GetResource().Resource}, "", nil)
		})
	}
	for _, resource := range []string{"pods", "persistentvolumes", "csinodes", "leases"} {
		deny(resource)
	}
	expect(t, r.run(t, nil), map[string]string{"cluster-rights": "warn not everything can be read: csinodes: ", "nodes": "pass 3 of 3"})
	deny("nodes")
	if _, err := check.Run(t.Context(), check.Input{Client: r.client, VCenters: r.administrator(t), UserAgent: "test"}); !apierrors.IsForbidden(err) {
		t.Errorf("%v", err)
	}
}
