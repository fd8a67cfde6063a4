package kind

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"k8s.io/client-go/tools/clientcmd"
)

func TestKubeconfigIsOurs(t *testing.T) {
	const text = `apiVersion: v1
kind: Config
current-context: kind-vsphere-sandbox-demo
clusters:
- name: kind-vsphere-sandbox-demo
  cluster: {server: "https://127.0.0.1:6443"}
contexts:
- name: kind-vsphere-sandbox-demo
  context: {cluster: kind-vsphere-sandbox-demo, user: kind-vsphere-sandbox-demo}
users:
- name: kind-vsphere-sandbox-demo
  user: {token: secret}
`
	path := filepath.Join(t.TempDir(), "kubeconfig")
	if err := writeKubeconfig(path, "vsphere-sandbox-demo", text); err != nil {
		t.Fatal(err)
	}
	if info, err := os.Stat(path); err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("%v, %v", info.Mode(), err)
	}
	rest, err := clientcmd.BuildConfigFromFlags("", path)
	if err != nil || rest.Host != "https://127.0.0.1:6443" || rest.BearerToken != "secret" {
		t.Errorf("%v, %v", rest, err)
	}
	file, err := clientcmd.LoadFromFile(path)
	if err != nil || file.CurrentContext != "vsphere-sandbox-demo" || len(file.Contexts) != 1 {
		t.Errorf("%v, %v", file, err)
	}
	for _, bad := range []string{"{", "kind: Config", strings.ReplaceAll(text, "user: kind-vsphere-sandbox-demo}", "user: x}")} {
		if err := writeKubeconfig(path, "x", bad); err == nil {
			t.Errorf("%.20q was taken", bad)
		}
	}
}
