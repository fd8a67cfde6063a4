package existing

import (
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	authorizationv1 "k8s.io/api/authorization/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/rest"
)

func TestMayWatch(t *testing.T) {
	reader, _ := reviewing(func(a authorizationv1.ResourceAttributes) bool {
		return a.Verb == "get" || a.Verb == "list" || a.Verb == "watch"
	})
	if err := reader.MayWatch(t.Context()); err != nil {
		t.Errorf("one who may read: %v", err)
	}
	half, _ := reviewing(func(a authorizationv1.ResourceAttributes) bool { return a.Verb == "list" && a.Resource == "nodes" })
	err := half.MayWatch(t.Context())
	if codeOf(t, err) != CodeRights || !strings.HasSuffix(err.Error(), ": get nodes, list events, watch events, watch nodes") {
		t.Errorf("got %v", err)
	}
}

func TestGuardBeside(t *testing.T) {
	for name, tc := range map[string]struct {
		has    []runtime.Object
		beside bool
		code   string
		says   string
	}{
		"nodes of ours": {has: []runtime.Object{node("a", "")}},
		"initialized":   {has: []runtime.Object{node("a", "vsphere://4213a0fe-0000-4000-8000-000000000009")}, code: CodeController, says: "node a has the providerID"},
		"and told":      {has: []runtime.Object{node("a", "vsphere://4213a0fe-0000-4000-8000-000000000009")}, beside: true},
		"a Lease":       {has: []runtime.Object{lease("cloud-controller-manager", "a_1", time.Second)}, code: CodeController, says: "held by a_1"},
		"our name":      {has: []runtime.Object{&corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: "vsphere-sandbox-mine"}}}, beside: true, code: CodeTaken, says: "vsphere-sandbox-mine"},
	} {
		t.Run(name, func(t *testing.T) {
			err := holding(tc.has...).GuardOutside(t.Context(), "mine", tc.beside)
			if code := codeOf(t, err); code != tc.code || err != nil && !strings.Contains(err.Error(), tc.says) {
				t.Errorf("%q: %v", code, err)
			}
		})
	}
}

func TestStraight(t *testing.T) {
	for host, code := range map[string]string{"https://api.test:6443": "", "https://api.test:6443/": "", "https://rancher.test/k8s/clusters/c-1": CodeKubeconfig} {
		c := &Cluster{context: "lab", rest: &rest.Config{Host: host}}
		if err := c.connect(); err != nil {
			t.Fatal(err)
		}
		if got := codeOf(t, c.CheckDirectAccess()); got != code {
			t.Errorf("%s: %q", host, got)
		}
		c.rest.Proxy = http.ProxyFromEnvironment
		if got := codeOf(t, c.CheckDirectAccess()); got != CodeKubeconfig {
			t.Errorf("%s through a proxy: %q", host, got)
		}
	}
}

// No more goes than what was made: roles that are labeled, and the namespace. What else has these labels is not looked for.
func TestRemoveBeside(t *testing.T) {
	own, other := map[string]string{managedByLabel: program, instanceLabel: "mine"}, map[string]string{managedByLabel: program, instanceLabel: "other"}
	const ns, rbac = "vsphere-sandbox-mine", "rbac.authorization.k8s.io/v1"
	r, client := fakeRemover(t,
		thing("v1", "Namespace", "", ns, own),
		thing("v1", "Namespace", "", "vsphere-sandbox-other", other),
		thing("v1", "Node", "", "worker-1", own),
		thing("v1", "Secret", ns, "vsphere-cloud-secret", own),
		thing(rbac, "Role", "default", ns+":events", own),
		thing(rbac, "RoleBinding", "default", ns+":events", own),
		thing(rbac, "RoleBinding", "kube-system", "theirs", nil),
		thing(rbac, "ClusterRole", "", ns, own),
		thing(rbac, "ClusterRoleBinding", "", ns, own),
		thing(rbac, "ClusterRole", "", "vsphere-sandbox-other", other),
	)
	r.kinds, r.selectors = besideKinds(), []string{selectManaged("mine")}
	if err := r.all(t.Context(), func(string) {}); err != nil {
		t.Fatal(err)
	}
	want := []string{"default/" + ns + ":events", "default/" + ns + ":events", ns, ns, ns}
	if diff := cmp.Diff(want, deleted(client)); diff != "" {
		t.Errorf("deleted (-want +got):\n%s", diff)
	}
}

func TestNote(t *testing.T) {
	dir := t.TempDir()
	if n, err := ReadNote(dir); n != nil || err != nil {
		t.Errorf("none: %+v, %v", n, err)
	}
	want := &Note{Name: "mine", Context: "lab", Outside: true}
	if err := WriteNote(dir, *want); err != nil {
		t.Fatal(err)
	}
	got, err := ReadNote(dir)
	if diff := cmp.Diff(want, got); diff != "" || err != nil {
		t.Errorf("(-want +got):\n%s\n%v", diff, err)
	}
	for range 2 {
		if err := RemoveNote(dir); err != nil {
			t.Error(err)
		}
	}
}
