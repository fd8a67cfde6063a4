package existing

import (
	"context"
	"errors"
	"net/http"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/dynamic"
	metafake "k8s.io/client-go/metadata/fake"
	clienttesting "k8s.io/client-go/testing"
)

// thing is an object as a removal sees it.
func thing(apiVersion, kind, namespace, name string, labels map[string]string, change ...func(*metav1.PartialObjectMetadata)) *metav1.PartialObjectMetadata {
	o := &metav1.PartialObjectMetadata{
		TypeMeta:   metav1.TypeMeta{APIVersion: apiVersion, Kind: kind},
		ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: name, UID: types.UID(kind + namespace + name), Labels: labels},
	}
	for _, f := range change {
		f(o)
	}
	return o
}

func annotatedWith(key string) func(*metav1.PartialObjectMetadata) {
	return func(o *metav1.PartialObjectMetadata) { o.Annotations = map[string]string{key: driver} }
}

func finalized(o *metav1.PartialObjectMetadata) {
	o.Finalizers = append(o.Finalizers, "external-attacher/csi-vsphere-vmware-com")
}

func fakeRemover(t *testing.T, objects ...runtime.Object) (remover, *metafake.FakeMetadataClient) {
	t.Helper()
	scheme := metafake.NewTestScheme()
	if err := metav1.AddMetaToScheme(scheme); err != nil {
		t.Fatal(err)
	}
	client := metafake.NewSimpleMetadataClient(scheme, objects...)
	return remover{client: client, selectors: []string{selectChart("mine"), selectManaged("mine")}}, client
}

// deleted are the names of what was deleted, in order.
func deleted(c *metafake.FakeMetadataClient) (all []string) {
	for _, a := range c.Actions() {
		if d, ok := a.(clienttesting.DeleteAction); ok {
			all = append(all, strings.TrimPrefix(d.GetNamespace()+"/"+d.GetName(), "/"))
		}
	}
	return all
}

// What was made goes, in an order in which nothing is made again; what is others' stays.
func TestRemove(t *testing.T) {
	chart, own, others := chartLabels("mine"), map[string]string{managedByLabel: program, instanceLabel: "mine"}, map[string]string{managedByLabel: "Helm"}
	const ns, rbac = "vsphere-sandbox-mine", "rbac.authorization.k8s.io/v1"
	r, client := fakeRemover(t,
		thing("v1", "Namespace", "", ns, chart),
		thing("v1", "Namespace", "", "kube-system", nil),
		thing("apps/v1", "Deployment", ns, "sandbox", chart),
		thing("apps/v1", "Deployment", "default", "shop", others),
		thing("apps/v1", "DaemonSet", "kube-system", "ccm", own),
		thing("v1", "Node", "", "worker-1", own),
		thing("v1", "Node", "", "machine-1", nil),
		// Of a sandbox that came into the cluster after somebody else had cleaned it up.
		thing("v1", "Node", "", "worker-2", map[string]string{managedByLabel: program, instanceLabel: "other"}),
		thing("apps/v1", "DaemonSet", "kube-system", "ccm-2", map[string]string{managedByLabel: program, instanceLabel: "other"}),
		thing(rbac, "ClusterRole", "", "vsphere-sandbox:mine:sandbox", chart),
		thing(rbac, "ClusterRole", "", "vsphere-sandbox:other:sandbox", chartLabels("other")),
		thing(rbac, "ClusterRole", "", "cluster-admin", nil),
		thing("storage.k8s.io/v1", "CSIDriver", "", driver, own),
		thing("storage.k8s.io/v1", "VolumeAttachment", "", "csi-1", nil, finalized),
		thing("storage.k8s.io/v1", "VolumeAttachment", "", "csi-2", nil),
		thing("v1", "PersistentVolume", "", "pvc-1", nil, annotatedWith(provisioner), finalized),
		thing("v1", "PersistentVolume", "", "theirs", nil),
		thing("v1", "PersistentVolumeClaim", "default", "data", nil, annotatedWith(claimProvisioner)),
		thing("apiextensions.k8s.io/v1", "CustomResourceDefinition", "", "volumesnapshots.snapshot.storage.k8s.io", own),
		thing("snapshot.storage.k8s.io/v1", "VolumeSnapshot", "default", "before", nil, finalized),
	)
	var said []string
	left, err := r.all(t.Context(), func(text string) { said = append(said, text) })
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff([]string{"persistentvolumeclaim default/data"}, left); diff != "" {
		t.Errorf("left (-want +got):\n%s", diff)
	}
	got := deleted(client)
	slices.Sort(got[3:5]) // the attachment and the volume, at once
	want := []string{
		ns + "/sandbox", "kube-system/ccm", "worker-1", "csi-1", "pvc-1", driver, "vsphere-sandbox:mine:sandbox",
		"volumesnapshots.snapshot.storage.k8s.io", ns,
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("deleted (-want +got):\n%s\nsaid %q", diff, said)
	}
	var freed []string
	for _, a := range client.Actions() {
		if p, ok := a.(clienttesting.PatchAction); ok {
			freed = append(freed, p.GetName())
		}
	}
	slices.Sort(freed)
	if diff := cmp.Diff([]string{"before", "csi-1", "pvc-1"}, freed); diff != "" {
		t.Errorf("freed (-want +got):\n%s", diff)
	}
	client.ClearActions()
	if left, err := r.all(t.Context(), func(string) {}); err != nil || left != nil || len(deleted(client)) > 0 {
		t.Errorf("once more: %v, %v, %v", left, err, deleted(client))
	}
}

// Without a driver of ours no volume is touched.
func TestRemoveLeavesVolumesOfOthers(t *testing.T) {
	r, client := fakeRemover(t,
		thing("storage.k8s.io/v1", "CSIDriver", "", driver, nil),
		thing("v1", "PersistentVolume", "", "pvc-1", nil, annotatedWith(provisioner)),
	)
	if _, err := r.all(t.Context(), func(string) {}); err != nil || len(deleted(client)) > 0 {
		t.Errorf("%v, deleted %v", err, deleted(client))
	}
}

// What does not go is named once the time is over.
func TestRemoveIsNotOver(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r, client := fakeRemover(t, thing("v1", "Node", "", "worker-1", map[string]string{managedByLabel: program, instanceLabel: "mine"}))
		client.PrependReactor("delete", "*", func(clienttesting.Action) (bool, runtime.Object, error) { return true, nil, nil })
		ctx, cancel := context.WithTimeout(t.Context(), patience)
		defer cancel()
		_, err := r.all(ctx, func(string) {})
		var waits *stillThere
		if !errors.As(err, &waits) || waits.Error() != "node worker-1" {
			t.Errorf("got %v", err)
		}
	})
}

// What an installation applies comes in an order in which each finds what it needs.
func TestInstall(t *testing.T) {
	var mu sync.Mutex
	var applied []string
	c := served(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Method != http.MethodPatch || r.Header.Get("Content-Type") != "application/apply-patch+yaml" || r.URL.Query().Get("fieldManager") != installer {
			t.Errorf("%s %s", r.Method, r.URL)
		}
		mu.Lock()
		applied = append(applied, r.URL.Path)
		mu.Unlock()
		o := &unstructured.Unstructured{Object: map[string]any{"apiVersion": "v1", "kind": "Any", "metadata": map[string]any{}}}
		answer(t, w, http.StatusOK, o)
	}))
	if err := c.Install(t.Context(), "mine", Feed{Token: []byte("t")}, chartObjects(t)); err != nil {
		t.Fatal(err)
	}
	at := func(path string) int {
		i := slices.Index(applied, path)
		if i < 0 {
			t.Errorf("%s was not applied: %q", path, applied)
		}
		return i
	}
	for _, order := range [][2]string{
		{"/api/v1/namespaces/vsphere-sandbox-mine", "/api/v1/namespaces/vsphere-sandbox-mine/secrets/" + Secret},
		{"/api/v1/namespaces/vmware-system-csi", "/apis/rbac.authorization.k8s.io/v1/namespaces/vmware-system-csi/roles/vsphere-sandbox:mine:sandbox"},
		{"/api/v1/namespaces/vsphere-sandbox-mine/secrets/" + Secret, "/apis/apps/v1/namespaces/vsphere-sandbox-mine/deployments/sandbox"},
		{"/apis/rbac.authorization.k8s.io/v1/clusterroles/vsphere-sandbox:mine:sandbox", "/apis/rbac.authorization.k8s.io/v1/clusterrolebindings/vsphere-sandbox:mine:sandbox"},
		{"/apis/rbac.authorization.k8s.io/v1/clusterrolebindings/vsphere-sandbox:mine:light-nodes", "/apis/apps/v1/namespaces/vsphere-sandbox-mine/statefulsets/light-nodes"},
	} {
		if at(order[0]) > at(order[1]) {
			t.Errorf("%s after %s", order[0], order[1])
		}
	}
}

func TestInstallRefused(t *testing.T) {
	c := served(t, http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		answer(t, w, http.StatusForbidden, metav1.Status{
			TypeMeta: metav1.TypeMeta{APIVersion: "v1", Kind: "Status"}, Status: "Failure", Code: 403, Reason: metav1.StatusReasonForbidden, Message: "no",
		})
	}))
	if err := c.Install(t.Context(), "mine", Feed{}, chartObjects(t)); codeOf(t, err) != CodeRights {
		t.Errorf("got %v", err)
	}
	client, err := dynamic.NewForConfig(c.REST())
	if err != nil {
		t.Fatal(err)
	}
	strange := &unstructured.Unstructured{Object: map[string]any{"apiVersion": "v1", "kind": "Pod"}}
	if err := install(t.Context(), client, []*unstructured.Unstructured{strange}); err == nil {
		t.Error("a kind that the removal does not know was applied")
	}
}
