package check_test

import (
	"testing"

	"github.com/vmware/govmomi/find"
	"github.com/vmware/govmomi/object"
	"github.com/vmware/govmomi/vim25/types"
	corev1 "k8s.io/api/core/v1"
	storagev1 "k8s.io/api/storage/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/version"
	discovery "k8s.io/client-go/discovery/fake"
	"k8s.io/client-go/kubernetes/fake"

	"github.com/vsphere-sandbox/vsphere-sandbox/internal/migrate/check"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/sim"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/vcenter"
)

// site is a vCenter with three nodes' VMs in order, and one of them that is not.
const site = `
apiVersion: sandbox.vsphere/v1alpha1
kind: Topology
metadata: {name: site}
spec:
  vcenters:
    - name: vc
      users: [{name: reader@vsphere.local, password: "secret of reader"}]
      permissions: [{user: reader@vsphere.local, role: ReadOnly}]
      datacenters:
        - name: dc
          region: eu
          zone: a
          datastores: [{name: shared, capacity: 1Ti}, {name: other, capacity: 1Ti}]
          clusters: [{name: c, hosts: [{name: h1}]}]
          vms:
            - {name: cp-1, cluster: c, role: control-plane, uuid: 42100000-0000-4000-8000-000000000001, extraConfig: [{key: disk.enableUUID, value: "TRUE"}]}
            - {name: worker-1, cluster: c, role: worker, uuid: 42100000-0000-4000-8000-000000000002, extraConfig: [{key: disk.enableUUID, value: "TRUE"}]}
            - {name: worker-2, cluster: c, role: worker, uuid: 42100000-0000-4000-8000-000000000003, hardwareVersion: vmx-13, extraConfig: [{key: disk.enableUUID, value: "FALSE"}]}
            - {name: database, cluster: c, hardwareVersion: vmx-10, tools: "no"}
`

// rig is that site with a cluster.
type rig struct {
	*sim.Lab
	client *fake.Clientset
}

func start(t *testing.T, objects ...runtime.Object) *rig {
	t.Helper()
	r := &rig{Lab: sim.Start(t, site)}
	r.client = cluster("v1.24.17", append([]runtime.Object{
		node("cp-1", "42100000-0000-4000-8000-000000000001", true), node("worker-1", "42100000-0000-4000-8000-000000000002", false),
		node("worker-2", "00001042-0000-0040-8000-000000000003", false),
	}, objects...)...)
	return r
}

func cluster(release string, objects ...runtime.Object) *fake.Clientset {
	c := fake.NewClientset(objects...)
	c.Discovery().(*discovery.FakeDiscovery).FakedServerVersion = &version.Info{GitVersion: release}
	return c
}

func node(name, uuid string, controlPlane bool) *corev1.Node {
	n := &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: name, Labels: map[string]string{}}}
	n.Status.NodeInfo.SystemUUID, n.Status.NodeInfo.KubeletVersion = uuid, "v1.24.17"
	if controlPlane {
		n.Labels["node-role.kubernetes.io/control-plane"] = ""
	}
	return n
}

// volume is one of the in-tree provider that a claim of its name has.
func volume(name, path string) *corev1.PersistentVolume {
	pv := &corev1.PersistentVolume{ObjectMeta: metav1.ObjectMeta{Name: name}}
	pv.Spec.VsphereVolume = &corev1.VsphereVirtualDiskVolumeSource{VolumePath: path, FSType: "ext4"}
	pv.Spec.PersistentVolumeReclaimPolicy, pv.Spec.StorageClassName = corev1.PersistentVolumeReclaimDelete, "old"
	pv.Spec.ClaimRef = &corev1.ObjectReference{Namespace: "app", Name: "claim-" + name}
	pv.Status.Phase = corev1.VolumeBound
	return pv
}

// pod has a claim.
func pod(name, claim string) *corev1.Pod {
	p := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: "app", Name: name}}
	p.Spec.Volumes = []corev1.Volume{{Name: "data", VolumeSource: corev1.VolumeSource{PersistentVolumeClaim: &corev1.PersistentVolumeClaimVolumeSource{ClaimName: claim}}}}
	return p
}

func class(name string, parameters map[string]string) *storagev1.StorageClass {
	return &storagev1.StorageClass{ObjectMeta: metav1.ObjectMeta{Name: name}, Provisioner: "kubernetes.io/vsphere-volume", Parameters: parameters}
}

// controller is the pod of a kube-controller-manager.
func controller(flags ...string) *corev1.Pod {
	p := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: "kube-system", Name: "kube-controller-manager-cp-1", Labels: map[string]string{"component": "kube-controller-manager"}}}
	p.Spec.NodeName = "cp-1"
	p.Spec.Containers = []corev1.Container{{Command: append([]string{"kube-controller-manager"}, flags...)}}
	return p
}

// makeDisk makes a disk as the in-tree provider did.
func (r *rig) makeDisk(t *testing.T, datastore, file string) {
	t.Helper()
	c := r.Client("vc")
	dc, err := find.NewFinder(c.Client).Datacenter(t.Context(), "/dc")
	if err != nil {
		t.Fatal(err)
	}
	at := func(path string) string { return (&object.DatastorePath{Datastore: datastore, Path: path}).String() }
	if err := object.NewFileManager(c.Client).MakeDirectory(t.Context(), at("kubevols"), dc, true); err != nil {
		t.Log(err) // it is there
	}
	task, err := object.NewVirtualDiskManager(c.Client).CreateVirtualDisk(t.Context(), at(file), dc, &types.FileBackedVirtualDiskSpec{CapacityKb: 32 << 10})
	if err != nil {
		t.Fatal(err)
	}
	if err := task.Wait(t.Context()); err != nil {
		t.Fatal(err)
	}
}

// as returns the configuration for an account.
func (r *rig) as(t *testing.T, user, password string) *vcenter.Config {
	t.Helper()
	v, _ := r.VCenter("vc")
	c, err := vcenter.FromEnvironment([]string{"GOVC_URL=" + v.Addr(), "GOVC_USERNAME=" + user, "GOVC_PASSWORD=" + password, "GOVC_TLS_CA_CERTS=" + r.CAFile})
	if err != nil {
		t.Fatal(err)
	}
	c.VCenters[0].Name = "vc"
	return c
}

func (r *rig) administrator(t *testing.T) *vcenter.Config {
	v, _ := r.VCenter("vc")
	return r.as(t, v.User(), v.Password())
}

func (r *rig) run(t *testing.T, edit func(*check.Input)) *check.Report {
	t.Helper()
	in := check.Input{Client: r.client, Cluster: "prod", VCenters: r.administrator(t), UserAgent: "test"}
	if edit != nil {
		edit(&in)
	}
	report, err := check.Run(t.Context(), in)
	if err != nil {
		t.Fatal(err)
	}
	return report
}

// found is what a check came to: its first finding that does not pass, or the first.
func found(t *testing.T, r *check.Report, id string) check.Finding {
	t.Helper()
	var first *check.Finding
	for i, f := range r.Findings {
		if f.Check != id {
			continue
		}
		if f.Verdict != check.Pass {
			return f
		}
		if first == nil {
			first = &r.Findings[i]
		}
	}
	if first == nil {
		t.Fatalf("no finding %s among %+v", id, r.Findings)
	}
	return *first
}
