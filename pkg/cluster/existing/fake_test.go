package existing

import (
	"encoding/json"
	"errors"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/kubernetes/fake"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"
	clientcmdapi "k8s.io/client-go/tools/clientcmd/api"

	"github.com/vsphere-sandbox/vsphere-sandbox/internal/coded"
)

// served is the cluster behind a server of the test's.
func served(t *testing.T, h http.Handler) *Cluster {
	t.Helper()
	server := httptest.NewTLSServer(h)
	t.Cleanup(server.Close)
	c := &Cluster{context: "lab", rest: &rest.Config{
		Host: server.URL, TLSClientConfig: rest.TLSClientConfig{CAData: certificate(server)},
	}}
	if err := c.connect(); err != nil {
		t.Fatal(err)
	}
	return c
}

// holding is a cluster that has objects, and does nothing with them.
func holding(objects ...runtime.Object) *Cluster {
	return &Cluster{context: "lab", client: fake.NewClientset(objects...)}
}

// codeOf is the code of an error that a user gets; "" for nil.
func codeOf(t *testing.T, err error) string {
	t.Helper()
	if err == nil {
		return ""
	}
	var e *coded.Error
	if !errors.As(err, &e) {
		t.Fatalf("%T: %v", err, err)
	}
	if e.Try == "" || e.Message == "" {
		t.Errorf("%+v says too little", e)
	}
	return e.Code
}

func answer(t *testing.T, w http.ResponseWriter, status int, v any) {
	t.Helper()
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	if err := json.NewEncoder(w).Encode(v); err != nil {
		t.Error(err)
	}
}

func named(name string) metav1.ObjectMeta { return metav1.ObjectMeta{Name: name} }

// kubeconfig writes one with the contexts, the first of which is current.
func kubeconfig(t *testing.T, server string, ca []byte, contexts ...string) string {
	t.Helper()
	c := clientcmdapi.NewConfig()
	for i, name := range contexts {
		c.Clusters[name] = &clientcmdapi.Cluster{Server: server, CertificateAuthorityData: ca}
		c.AuthInfos[name] = &clientcmdapi.AuthInfo{Token: "secret-" + name}
		c.Contexts[name] = &clientcmdapi.Context{Cluster: name, AuthInfo: name}
		if i == 0 {
			c.CurrentContext = name
		}
	}
	path := filepath.Join(t.TempDir(), "config")
	if err := clientcmd.WriteToFile(*c, path); err != nil {
		t.Fatal(err)
	}
	return path
}

// sandboxPod is one as the chart's Deployment makes it.
func sandboxPod(name string, state corev1.ContainerState) *corev1.Pod {
	return &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{
			Name: name, Namespace: NamespaceOf("mine"),
			Labels: map[string]string{partOfLabel: program, instanceLabel: "mine", "app.kubernetes.io/component": "sandbox"},
		},
		Status: corev1.PodStatus{ContainerStatuses: []corev1.ContainerStatus{{Image: "sandbox:v1", State: state}}},
	}
}
