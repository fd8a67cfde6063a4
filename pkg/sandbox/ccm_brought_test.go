package sandbox

import (
	"context"
	"errors"
	"os"
	"strings"
	"testing"

	authenticationv1 "k8s.io/api/authentication/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/kubernetes/fake"
	clienttesting "k8s.io/client-go/testing"

	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/cluster"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/sandbox/api"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/sandbox/cloudconfig"
)

// objectStore is a cluster that has objects and nothing else.
type objectStore struct {
	cluster.Cluster
	client kubernetes.Interface
}

func (o objectStore) Client() kubernetes.Interface { return o.client }

// What a cloud controller manager needs is not made for it where there is to be none: it is missed, by name.
func TestCCMThatIsBrought(t *testing.T) {
	s := newSandbox(t, "single")
	s.opts.CCM.None = true
	s.config = newCloudConfig(s)
	client := fake.NewClientset()
	client.PrependReactor("create", "serviceaccounts", func(a clienttesting.Action) (bool, runtime.Object, error) {
		return a.GetSubresource() == "token", &authenticationv1.TokenRequest{}, nil
	})
	s.cluster = objectStore{client: client}
	t.Cleanup(func() {
		if err := errors.Join(s.stopCCM(context.Background()), s.config.Stop(context.Background())); err != nil {
			t.Error(err)
		}
	})
	if err := s.config.Write(t.Context()); err != nil {
		t.Fatal(err)
	}
	if err := s.startNoCCM(t.Context()); err != nil {
		t.Fatal(err)
	}
	if n := len(client.Actions()); n > 0 {
		for _, a := range client.Actions() {
			if a.GetVerb() != "list" && a.GetVerb() != "watch" {
				t.Errorf("something was made: %v", a)
			}
		}
	}
	s.boot.SetPhase(api.Ready)
	c := serve(t, s)
	refused := func(what, words string) {
		t.Helper()
		_, err := c.SwapCCM(t.Context(), api.CCMRequest{})
		requireCode(t, what, err, "conflict")
		if err == nil || !strings.Contains(err.Error(), words) {
			t.Errorf("%s: %v", what, err)
		}
	}
	refused("nothing", "there is no ConfigMap kube-system/vsphere-cloud-config with a key vsphere.conf")
	config := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: cloudconfig.Namespace, Name: cloudconfig.ConfigMap}, Data: map[string]string{"other": "x"}}
	maps := client.CoreV1().ConfigMaps(cloudconfig.Namespace)
	if _, err := maps.Create(t.Context(), config, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	refused("another key", "there is no ConfigMap")
	config.Data = map[string]string{cloudconfig.Key: "mine"}
	if _, err := maps.Update(t.Context(), config, metav1.UpdateOptions{}); err != nil {
		t.Fatal(err)
	}
	refused("no account", "there is no ServiceAccount kube-system/cloud-controller-manager")
	account := &corev1.ServiceAccount{ObjectMeta: metav1.ObjectMeta{Namespace: cloudconfig.Namespace, Name: ccmServiceAccount}}
	if _, err := client.CoreV1().ServiceAccounts(cloudconfig.Namespace).Create(t.Context(), account, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	for range 2 { // again for a second swap
		if err := s.adoptCCM(t.Context()); err != nil {
			t.Fatal(err)
		}
		if data, err := os.ReadFile(s.config.File); err != nil || string(data) != "mine" {
			t.Errorf("vsphere.conf %q, %v", data, err)
		}
	}
	_, err := c.RestartCCM(t.Context())
	requireCode(t, "restart", err, "conflict")
	if err := s.config.Update(t.Context()); err != nil {
		t.Error(err)
	}
	if m, err := maps.Get(t.Context(), cloudconfig.ConfigMap, metav1.GetOptions{}); err != nil || m.Data[cloudconfig.Key] != "mine" {
		t.Errorf("somebody else's ConfigMap: %v, %v", m, err)
	}
}
