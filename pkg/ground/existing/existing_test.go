package existing

import (
	"slices"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"

	"github.com/vsphere-sandbox/vsphere-sandbox/internal/coded"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/cluster"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/cluster/existing"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/ground"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/provider/match"
	"github.com/vsphere-sandbox/vsphere-sandbox/scenarios"
)

var (
	_ ground.Ground     = (*Ground)(nil)
	_ ground.NodeSource = (*Ground)(nil)
)

type fakeHost struct{}

func (fakeHost) Detail(string)              {}
func (fakeHost) SetCluster(cluster.Cluster) {}
func (fakeHost) CCMObjects() []runtime.Object {
	return []runtime.Object{&corev1.Secret{ObjectMeta: metav1.ObjectMeta{Name: "vsphere-cloud-secret"}}}
}

func nodeWith(name, providerID, systemUUID string) *corev1.Node {
	n := &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: name}}
	n.Spec.ProviderID, n.Status.NodeInfo.SystemUUID = providerID, systemUUID
	return n
}

// The question whether the user may make something is about the namespace, too, and has a kind for each object.
func TestObjects(t *testing.T) {
	objects, err := New(Config{Name: "test", Host: fakeHost{}}).objects()
	if err != nil || len(objects) != 2 || objects[1].GetName() != "vsphere-sandbox-test" {
		t.Errorf("%v, %v", objects, err)
	}
	for _, o := range objects {
		if o.GetKind() == "" || o.GetAPIVersion() == "" {
			t.Errorf("%v", o)
		}
	}
}

func TestStrays(t *testing.T) {
	top, err := scenarios.Load("single")
	if err != nil {
		t.Fatal(err)
	}
	var ids []string
	for r := range top.AllVMs() {
		ids = append(ids, r.VM.UUID)
	}
	got := strays([]corev1.Node{
		*nodeWith("straight", "", strings.ToUpper(ids[0])), *nodeWith("turned", "", swapped(ids[1])),
		*nodeWith("bound", "vsphere://"+swapped(ids[0]), "42000000-0000-4000-8000-000000000001"),
		*nodeWith("mislead", "vsphere://42000000-0000-4000-8000-000000000001", ids[0]),
		*nodeWith("cloud", "aws:///eu/i-1", ids[0]), *nodeWith("blank", "", ""),
	}, top)
	if want := []string{"mislead", "cloud", "blank"}; !slices.Equal(got, want) {
		t.Errorf("%q, want %q", got, want)
	}
	refused := endangered(got).(*coded.Error)
	if refused.Code != existing.CodeNodes || !strings.Contains(refused.Message, "mislead, cloud, blank") || !strings.Contains(refused.Try, "leave --ccm out") {
		t.Errorf("%+v", refused)
	}
}

// swapped is a UUID in the other byte order.
func swapped(id string) string {
	u, err := match.ParseUUID(id)
	if err != nil {
		panic(err)
	}
	return u.Swapped().String()
}
