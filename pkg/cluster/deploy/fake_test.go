package deploy

import (
	"slices"
	"strings"
	"testing"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	dynamicfake "k8s.io/client-go/dynamic/fake"
	"k8s.io/client-go/kubernetes/fake"
	clientscheme "k8s.io/client-go/kubernetes/scheme"
	clienttesting "k8s.io/client-go/testing"
)

// rig is a deployment in a cluster that is only remembered: two, rather, one that is applied to and one that is watched.
type rig struct {
	*Deployment
	dyn    *dynamicfake.FakeDynamicClient
	client *fake.Clientset
	// did is what was asked of the dynamic client, in order: "patch configmaps kube-system/x".
	did []string
}

type fixedMapper struct{ *meta.DefaultRESTMapper }

func (fixedMapper) Reset() {}

func mapperOf() fixedMapper {
	m := meta.NewDefaultRESTMapper(nil)
	root := map[string]bool{
		"Namespace": true, "ClusterRole": true, "ClusterRoleBinding": true, "CustomResourceDefinition": true, "StorageClass": true,
		"CSIDriver": true, "VolumeSnapshotClass": true, "PersistentVolume": true, "VolumeAttachment": true, "VolumeSnapshotContent": true,
		"PriorityClass": true, "ValidatingWebhookConfiguration": true, "MutatingWebhookConfiguration": true,
	}
	all := slices.Concat(kinds(), []schema.GroupVersionKind{
		{Version: "v1", Kind: "Namespace"},
		{Version: "v1", Kind: "PersistentVolume"},
		{Group: "storage.k8s.io", Version: "v1", Kind: "VolumeAttachment"},
		{Group: "apiextensions.k8s.io", Version: "v1", Kind: "CustomResourceDefinition"},
		{Group: "snapshot.storage.k8s.io", Version: "v1", Kind: "VolumeSnapshotContent"},
		{Group: "snapshot.storage.k8s.io", Version: "v1", Kind: "VolumeSnapshot"},
	})
	for _, k := range all {
		scope := meta.RESTScope(meta.RESTScopeNamespace)
		if root[k.Kind] {
			scope = meta.RESTScopeRoot
		}
		m.Add(k, scope)
	}
	return fixedMapper{m}
}

// newRig returns a deployment in a cluster that has the objects already. Its nodes are one of the control plane.
func newRig(t *testing.T, o Options, there ...runtime.Object) *rig {
	t.Helper()
	lists := map[schema.GroupVersionResource]string{}
	mapper := mapperOf()
	for _, k := range slices.Concat(kinds(), []schema.GroupVersionKind{
		{Version: "v1", Kind: "Namespace"},
		{Version: "v1", Kind: "PersistentVolume"},
		{Group: "storage.k8s.io", Version: "v1", Kind: "VolumeAttachment"},
		{Group: "apiextensions.k8s.io", Version: "v1", Kind: "CustomResourceDefinition"},
		{Group: "snapshot.storage.k8s.io", Version: "v1", Kind: "VolumeSnapshotContent"},
		{Group: "snapshot.storage.k8s.io", Version: "v1", Kind: "VolumeSnapshot"},
		{Group: "cns.vmware.com", Version: "v1alpha1", Kind: "CSINodeTopology"},
	}) {
		gvr, _ := meta.UnsafeGuessKindToResource(k)
		lists[gvr] = k.Kind + "List"
	}
	var dynamicThere []runtime.Object
	for _, o := range there {
		u, ok := o.(*unstructured.Unstructured)
		if !ok {
			raw, err := runtime.DefaultUnstructuredConverter.ToUnstructured(o)
			if err != nil {
				t.Fatal(err)
			}
			u = &unstructured.Unstructured{Object: raw}
			kinds, _, err := clientscheme.Scheme.ObjectKinds(o)
			if err != nil {
				t.Fatal(err)
			}
			u.SetGroupVersionKind(kinds[0])
		}
		dynamicThere = append(dynamicThere, u)
	}
	node := &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: "cp", Labels: map[string]string{controlPlane: ""}}}
	typed := []runtime.Object{node}
	for _, o := range there {
		if _, ok := o.(*unstructured.Unstructured); !ok {
			typed = append(typed, o)
		}
	}
	r := &rig{client: fake.NewClientset(typed...), dyn: dynamicfake.NewSimpleDynamicClientWithCustomListKinds(runtime.NewScheme(), lists, dynamicThere...)}
	r.dyn.PrependReactor("*", "*", r.note)
	r.dyn.PrependReactor("patch", "*", r.applied)
	r.Deployment = newDeployment(r.client, r.dyn, mapper, o)
	t.Cleanup(r.Close)
	return r
}

func (r *rig) note(a clienttesting.Action) (bool, runtime.Object, error) {
	name := ""
	switch a := a.(type) {
	case clienttesting.PatchAction:
		name = a.GetName()
	case clienttesting.CreateAction:
		name = a.GetObject().(*unstructured.Unstructured).GetName()
	case clienttesting.DeleteAction:
		name = a.GetName()
	}
	if v := a.GetVerb(); v != "get" && v != "list" && v != "watch" {
		r.did = append(r.did, strings.Join([]string{v, a.GetResource().Resource, strings.TrimPrefix(a.GetNamespace()+"/"+name, "/")}, " "))
	}
	return false, nil, nil
}

// applied does what a server-side apply does to objects this simple: it merges.
func (r *rig) applied(a clienttesting.Action) (bool, runtime.Object, error) {
	patch, ok := a.(clienttesting.PatchAction)
	if !ok || patch.GetPatchType() != types.ApplyPatchType {
		return false, nil, nil
	}
	_, _, _ = r.note(a)
	given := &unstructured.Unstructured{}
	if err := given.UnmarshalJSON(patch.GetPatch()); err != nil {
		return true, nil, err
	}
	given.SetGeneration(1)
	given.SetManagedFields([]metav1.ManagedFieldsEntry{{Manager: fieldManager}})
	if given.GetKind() == "CustomResourceDefinition" {
		_ = unstructured.SetNestedSlice(given.Object, []any{map[string]any{"type": "Established", "status": "True"}}, "status", "conditions")
	}
	tracker := r.dyn.Tracker()
	there, err := tracker.Get(a.GetResource(), a.GetNamespace(), patch.GetName())
	if err != nil {
		return true, given, tracker.Create(a.GetResource(), given, a.GetNamespace())
	}
	merged := there.(*unstructured.Unstructured).DeepCopy()
	merge(merged.Object, given.Object)
	return true, merged, tracker.Update(a.GetResource(), merged, a.GetNamespace())
}

func merge(into, from map[string]any) {
	for k, v := range from {
		a, ok := into[k].(map[string]any)
		b, both := v.(map[string]any)
		if ok && both {
			merge(a, b)
		} else {
			into[k] = v
		}
	}
}

// get returns an object as it was applied, or nil.
func (r *rig) get(t *testing.T, kind schema.GroupVersionKind, namespace, name string) *unstructured.Unstructured {
	t.Helper()
	gvr, _ := meta.UnsafeGuessKindToResource(kind)
	o, err := r.dyn.Tracker().Get(gvr, namespace, name)
	if err != nil {
		return nil
	}
	return o.(*unstructured.Unstructured)
}

func core(kind string) schema.GroupVersionKind {
	return schema.GroupVersionKind{Version: "v1", Kind: kind}
}

func apps(kind string) schema.GroupVersionKind {
	return schema.GroupVersionKind{Group: "apps", Version: "v1", Kind: kind}
}

// conf is a configuration that says where it is.
func conf() Config {
	return Config{
		CA: []byte("PEM"), Secret: map[string][]byte{"10.0.0.1.username": []byte("u"), "10.0.0.1.password": []byte("hush")},
		Conf: func(p ConfigLocation) ([]byte, error) {
			return []byte("ca " + p.CAFile + " secret " + p.SecretNamespace + "/" + p.SecretName), nil
		},
	}
}

// runs puts a workload of ours and its pods into the cluster that is watched.
func daemonSetOf(name, part string, want, ready int32) *appsv1.DaemonSet {
	labels := map[string]string{"of": name}
	return &appsv1.DaemonSet{
		ObjectMeta: metav1.ObjectMeta{Name: name, Namespace: "kube-system", Labels: map[string]string{ManagedByLabel: ManagedBy, partLabel: part}},
		Spec:       appsv1.DaemonSetSpec{Selector: &metav1.LabelSelector{MatchLabels: labels}},
		Status:     appsv1.DaemonSetStatus{DesiredNumberScheduled: want, UpdatedNumberScheduled: want, NumberReady: ready},
	}
}

// podOn is a pod of such a workload, with a container that is as the status says.
func podOn(name, of, node string, status corev1.ContainerStatus) *corev1.Pod {
	status.Name = "main"
	return &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{Name: name, Namespace: "kube-system", Labels: map[string]string{"of": of}, UID: types.UID("uid-" + name)},
		Spec:       corev1.PodSpec{NodeName: node, Containers: []corev1.Container{{Name: "main", Image: status.Image}}},
		Status:     corev1.PodStatus{Phase: corev1.PodRunning, ContainerStatuses: []corev1.ContainerStatus{status}},
	}
}

func waiting(reason, image string) corev1.ContainerStatus {
	return corev1.ContainerStatus{Image: image, State: corev1.ContainerState{Waiting: &corev1.ContainerStateWaiting{Reason: reason, Message: "because"}}}
}

func running(id string, ready bool) corev1.ContainerStatus {
	return corev1.ContainerStatus{Ready: ready, ContainerID: "containerd://" + id, State: corev1.ContainerState{Running: &corev1.ContainerStateRunning{}}}
}

func apiextensions() schema.GroupVersionKind {
	return schema.GroupVersionKind{Group: "apiextensions.k8s.io", Version: "v1", Kind: "CustomResourceDefinition"}
}
