package existing

import (
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	authorizationv1 "k8s.io/api/authorization/v1"
	coordinationv1 "k8s.io/api/coordination/v1"
	corev1 "k8s.io/api/core/v1"
	storagev1 "k8s.io/api/storage/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/kubernetes/fake"
	clienttesting "k8s.io/client-go/testing"

	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/provider/match"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/topology"
)

func node(name, providerID string, change ...func(*corev1.Node)) *corev1.Node {
	n := &corev1.Node{ObjectMeta: named(name), Spec: corev1.NodeSpec{ProviderID: providerID}}
	for _, f := range change {
		f(n)
	}
	return n
}

func intent() Intent {
	return Intent{Name: "mine", VMs: []match.VM{VMOf(topology.VMRef{VCenter: &topology.VCenter{}, VM: &topology.VM{
		Hostname: "worker-1", UUID: "4213a0fe-0000-4000-8000-000000000001", NICs: []topology.NIC{{Addresses: []string{"10.10.0.4/24"}}},
	}})}}
}

func lease(name, holder string, ago time.Duration) *coordinationv1.Lease {
	renewed := metav1.NewMicroTime(time.Now().Add(-ago))
	return &coordinationv1.Lease{
		ObjectMeta: metav1.ObjectMeta{Name: name, Namespace: "kube-system"},
		Spec:       coordinationv1.LeaseSpec{HolderIdentity: &holder, RenewTime: &renewed},
	}
}

func running1(image string, command ...string) corev1.PodSpec {
	return corev1.PodSpec{Containers: []corev1.Container{{Name: "c", Image: image, Command: command}}}
}

func TestGuard(t *testing.T) {
	kube := func(name string) metav1.ObjectMeta { return metav1.ObjectMeta{Name: name, Namespace: "kube-system"} }
	none := int32(0)
	for name, tc := range map[string]struct {
		has    []runtime.Object
		change func(*Intent)
		code   string
		says   string
	}{
		"kind":       {has: []runtime.Object{node("a", "kind://docker/x/a"), lease("kube-scheduler", "a", 0)}},
		"no nodes":   {},
		"of vSphere": {has: []runtime.Object{node("a", "vsphere://4213a0fe-0000-4000-8000-000000000009")}, code: CodeNodes, says: "would be deleted"},
		"a UUID":     {has: []runtime.Object{node("a", "4213a0fe-0000-4000-8000-000000000009")}, code: CodeNodes, says: "would be deleted"},
		"uninitialized": {has: []runtime.Object{node("a", "kind://a", func(n *corev1.Node) {
			n.Spec.Taints = []corev1.Taint{{Key: "node.cloudprovider.kubernetes.io/uninitialized"}}
		})}, code: CodeNodes, says: "waits for a cloud controller manager"},
		"our name":         {has: []runtime.Object{node("worker-1", "kind://a")}, code: CodeName, says: "worker-1"},
		"unowned":          {has: []runtime.Object{node("a", ""), node("b", "")}, code: CodeNodes, says: "2 nodes have no providerID"},
		"unowned and told": {has: []runtime.Object{node("a", "")}, change: func(i *Intent) { i.AllowUnowned = true }},
		"unowned, told, UUID": {
			has:    []runtime.Object{node("a", "", func(n *corev1.Node) { n.Status.NodeInfo.SystemUUID = "4213A0FE-0000-4000-8000-000000000001" })},
			change: func(i *Intent) { i.AllowUnowned = true }, code: CodeNodes, says: "system UUID",
		},
		"unowned, told, address": {
			has: []runtime.Object{node("a", "", func(n *corev1.Node) {
				n.Status.Addresses = []corev1.NodeAddress{{Type: corev1.NodeInternalIP, Address: "10.10.0.4"}}
			})},
			change: func(i *Intent) { i.AllowUnowned = true }, code: CodeNodes, says: "10.10.0.4",
		},
		"a cloud's node": {has: []runtime.Object{node("a", "aws:///eu-1a/i-1")}, code: CodeController, says: "aws:///eu-1a/i-1"},
		"and told":       {has: []runtime.Object{node("a", "aws:///eu-1a/i-1")}, change: func(i *Intent) { i.AllowController = true }},
		"a Lease":        {has: []runtime.Object{lease("cloud-controller-manager", "a_1", time.Second)}, code: CodeController, says: "held by a_1"},
		"a Lease of old": {has: []runtime.Object{lease("cloud-controller-manager", "a_1", time.Hour)}},
		"a free Lease":   {has: []runtime.Object{lease("cloud-controller-manager", "", time.Second)}},
		"a DaemonSet": {has: []runtime.Object{&appsv1.DaemonSet{ObjectMeta: kube("ccm"), Spec: appsv1.DaemonSetSpec{
			Template: corev1.PodTemplateSpec{Spec: running1("registry.test/cloud-controller-manager:v1")},
		}}}, code: CodeController, says: "daemonset kube-system/ccm"},
		"a Deployment": {has: []runtime.Object{&appsv1.Deployment{ObjectMeta: kube("x"), Spec: appsv1.DeploymentSpec{
			Template: corev1.PodTemplateSpec{Spec: running1("x", "/bin/openstack-cloud-controller-manager")},
		}}}, code: CodeController, says: "deployment kube-system/x"},
		"a Deployment of none": {has: []runtime.Object{&appsv1.Deployment{ObjectMeta: kube("x"), Spec: appsv1.DeploymentSpec{
			Replicas: &none, Template: corev1.PodTemplateSpec{Spec: running1("cloud-controller-manager")},
		}}}},
		"a static pod": {has: []runtime.Object{&corev1.Pod{
			ObjectMeta: metav1.ObjectMeta{Name: "ccm-a", Namespace: "kube-system", Annotations: map[string]string{corev1.MirrorPodAnnotationKey: "x"}},
			Spec:       running1("k8s.test/cloud-provider-gcp:v1"),
		}}, code: CodeController, says: "pod kube-system/ccm-a"},
		"a driver": {has: []runtime.Object{
			&storagev1.CSIDriver{ObjectMeta: named("csi.vsphere.vmware.com")}, &corev1.Namespace{ObjectMeta: named("vmware-system-csi")},
		}},
		"another sandbox": {has: []runtime.Object{&corev1.Namespace{ObjectMeta: metav1.ObjectMeta{
			Name: "vsphere-sandbox-other", Labels: chartLabels("other"),
		}}}, code: CodeTaken, says: `sandbox "other"`},
		"the namespace":           {has: []runtime.Object{&corev1.Namespace{ObjectMeta: named("vsphere-sandbox-mine")}}, code: CodeTaken, says: "vsphere-sandbox-mine"},
		"the vCenters' namespace": {has: []runtime.Object{&corev1.Namespace{ObjectMeta: named("vsphere-sandbox")}}, code: CodeTaken, says: "vsphere-sandbox"},
	} {
		t.Run(name, func(t *testing.T) {
			i := intent()
			if tc.change != nil {
				tc.change(&i)
			}
			err := holding(tc.has...).Guard(t.Context(), i)
			if code := codeOf(t, err); code != tc.code || code != "" && !strings.Contains(err.Error(), tc.says) {
				t.Errorf("got %q %v, want %q %s", code, err, tc.code, tc.says)
			}
		})
	}
}

func chartObjects(t *testing.T) []*unstructured.Unstructured {
	t.Helper()
	all, err := Objects(os.DirFS("../../../charts/vsphere-sandbox"), ReleaseOf("mine"), nil)
	if err != nil {
		t.Fatal(err)
	}
	return all
}

// reviewing answers reviews, and counts them.
func reviewing(allowed func(authorizationv1.ResourceAttributes) bool) (*Cluster, *int) {
	client := fake.NewClientset()
	asked := 0
	client.PrependReactor("create", "selfsubjectaccessreviews", func(a clienttesting.Action) (bool, runtime.Object, error) {
		review := a.(clienttesting.CreateAction).GetObject().(*authorizationv1.SelfSubjectAccessReview).DeepCopy()
		asked++
		review.Status.Allowed = allowed(*review.Spec.ResourceAttributes)
		return true, review, nil
	})
	return &Cluster{context: "lab", client: client}, &asked
}

func TestCheckRights(t *testing.T) {
	admin, asked := reviewing(func(authorizationv1.ResourceAttributes) bool { return true })
	if err := admin.CheckRights(t.Context(), chartObjects(t)); err != nil || *asked != 1 {
		t.Errorf("an administrator: %v, asked %d times", err, *asked)
	}
	enough, asked := reviewing(func(a authorizationv1.ResourceAttributes) bool { return a.Verb != "*" })
	if err := enough.CheckRights(t.Context(), chartObjects(t)); err != nil || *asked < 80 {
		t.Errorf("just enough: %v, asked %d times", err, *asked)
	}
	one, _ := reviewing(func(a authorizationv1.ResourceAttributes) bool {
		return a.Verb != "*" && !(a.Resource == "pods" && a.Subresource == "portforward") && !(a.Verb == "create" && a.Resource == "clusterroles")
	})
	err := one.CheckRights(t.Context(), chartObjects(t))
	want := "create clusterroles.rbac.authorization.k8s.io, create pods/portforward in vsphere-sandbox-mine"
	if codeOf(t, err) != CodeRights || !strings.HasSuffix(err.Error(), want) {
		t.Errorf("got %v", err)
	}
	nothing, _ := reviewing(func(authorizationv1.ResourceAttributes) bool { return false })
	if err := nothing.CheckRights(t.Context(), chartObjects(t)); codeOf(t, err) != CodeRights || !strings.Contains(err.Error(), "more") {
		t.Errorf("got %v", err)
	}
}

// What comes first is what the rest needs, and every kind is one that the removal knows.
func TestObjects(t *testing.T) {
	all := chartObjects(t)
	if len(all) < 10 {
		t.Fatalf("%d objects", len(all))
	}
	if !slices.IsSortedFunc(all, func(a, b *unstructured.Unstructured) int { return turn(a.GetKind()) - turn(b.GetKind()) }) {
		t.Error("not in order")
	}
	for _, o := range append(all, installationObjects("mine", Feed{})...) {
		if _, err := resourceOf(o.GroupVersionKind()); err != nil {
			t.Error(err)
		}
		if labels := o.GetLabels(); labels[partOfLabel] != program || labels[instanceLabel] != "mine" {
			t.Errorf("%s %s: labels %v", o.GetKind(), o.GetName(), labels)
		}
	}
}
