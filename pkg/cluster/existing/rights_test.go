package existing

import (
	"os"
	"slices"
	"strings"
	"testing"

	authorizationv1 "k8s.io/api/authorization/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/kubernetes/fake"
	clienttesting "k8s.io/client-go/testing"
)

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
