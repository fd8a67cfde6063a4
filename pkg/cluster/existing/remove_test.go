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
func thing(apiVersion, kind, namespace, name string, labels map[string]string) *metav1.PartialObjectMetadata {
	return &metav1.PartialObjectMetadata{
		TypeMeta:   metav1.TypeMeta{APIVersion: apiVersion, Kind: kind},
		ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: name, UID: types.UID(kind + namespace + name), Labels: labels},
	}
}

func fakeRemover(t *testing.T, objects ...runtime.Object) (remover, *metafake.FakeMetadataClient) {
	t.Helper()
	scheme := metafake.NewTestScheme()
	if err := metav1.AddMetaToScheme(scheme); err != nil {
		t.Fatal(err)
	}
	client := metafake.NewSimpleMetadataClient(scheme, objects...)
	return remover{client: client, selectors: []string{selectChart("mine"), selectManaged("mine")}, kinds: kinds()}, client
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
		// Of a sandbox that was installed after another user had cleaned up the cluster.
		thing("v1", "Node", "", "worker-2", map[string]string{managedByLabel: program, instanceLabel: "other"}),
		thing("apps/v1", "DaemonSet", "kube-system", "ccm-2", map[string]string{managedByLabel: program, instanceLabel: "other"}),
		thing(rbac, "ClusterRole", "", "vsphere-sandbox:mine:sandbox", chart),
		thing(rbac, "ClusterRole", "", "vsphere-sandbox:other:sandbox", chartLabels("other")),
		thing(rbac, "ClusterRole", "", "cluster-admin", nil),
		thing("storage.k8s.io/v1", "CSIDriver", "", "csi.vsphere.vmware.com", nil),
		thing("v1", "PersistentVolume", "", "theirs", nil),
	)
	var said []string
	if err := r.all(t.Context(), func(text string) { said = append(said, text) }); err != nil {
		t.Fatal(err)
	}
	want := []string{ns + "/sandbox", "kube-system/ccm", "worker-1", "vsphere-sandbox:mine:sandbox", ns}
	if diff := cmp.Diff(want, deleted(client)); diff != "" {
		t.Errorf("deleted (-want +got):\n%s\nsaid %q", diff, said)
	}
	client.ClearActions()
	if err := r.all(t.Context(), func(string) {}); err != nil || len(deleted(client)) > 0 {
		t.Errorf("once more: %v, %v", err, deleted(client))
	}
}

// What does not go is named once the time is over.
func TestRemoveIsNotOver(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r, client := fakeRemover(t, thing("v1", "Node", "", "worker-1", map[string]string{managedByLabel: program, instanceLabel: "mine"}))
		client.PrependReactor("delete", "*", func(clienttesting.Action) (bool, runtime.Object, error) { return true, nil, nil })
		ctx, cancel := context.WithTimeout(t.Context(), patience)
		defer cancel()
		err := r.all(ctx, func(string) {})
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
		{"/api/v1/namespaces/vsphere-sandbox", "/apis/rbac.authorization.k8s.io/v1/namespaces/vsphere-sandbox/roles/vsphere-sandbox:mine:sandbox"},
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
