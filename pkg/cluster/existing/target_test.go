package existing

import (
	"encoding/pem"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"k8s.io/client-go/tools/clientcmd"
)

func certificate(s *httptest.Server) []byte {
	return pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: s.Certificate().Raw})
}

func TestOpen(t *testing.T) {
	file := kubeconfig(t, "https://cluster.test", nil, "prod", "lab")
	dir := t.TempDir()
	c, err := Open(Target{Kubeconfig: file, Context: "lab"}, dir)
	if err != nil {
		t.Fatal(err)
	}
	if c.Server() != "https://cluster.test" || c.Addr() != "cluster.test:443" || c.Context() != "lab" || c.REST().BearerToken != "secret-lab" {
		t.Errorf("%s %s %s %s", c.Server(), c.Addr(), c.Context(), c.REST().BearerToken)
	}
	// The written kubeconfig has nothing else in it, and only its owner may read it.
	info, err := os.Stat(c.Kubeconfig())
	if err != nil || info.Mode().Perm() != 0o600 || filepath.Dir(c.Kubeconfig()) != dir {
		t.Errorf("%s: %v, %v", c.Kubeconfig(), info, err)
	}
	own, err := clientcmd.LoadFromFile(c.Kubeconfig())
	if err != nil || len(own.Contexts) != 1 || len(own.AuthInfos) != 1 || len(own.Clusters) != 1 || own.CurrentContext != "lab" {
		t.Errorf("%v, %v", own, err)
	}
	if c, err := Open(Target{Kubeconfig: file}, dir); err != nil || c.Context() != "prod" {
		t.Errorf("without a context: %v, %v", c, err)
	}
	t.Setenv("KUBECONFIG", file)
	if c, err := Open(Target{Context: "lab"}, dir); err != nil || c.Context() != "lab" {
		t.Errorf("from the environment: %v, %v", c, err)
	}
}

func TestOpenRefuses(t *testing.T) {
	t.Setenv("KUBECONFIG", filepath.Join(t.TempDir(), "none"))
	t.Setenv("HOME", t.TempDir())
	broken := filepath.Join(t.TempDir(), "broken")
	if err := os.WriteFile(broken, []byte("{"), 0o600); err != nil {
		t.Fatal(err)
	}
	none := kubeconfig(t, "https://cluster.test", nil)
	for name, tc := range map[string]struct {
		target Target
		says   string
	}{
		"no kubeconfig": {Target{}, "there is no kubeconfig"},
		"no such file":  {Target{Kubeconfig: "/nowhere/config"}, "there is no kubeconfig /nowhere/config"},
		"broken":        {Target{Kubeconfig: broken}, "cannot be used"},
		"empty":         {Target{Kubeconfig: none}, "there is no kubeconfig"},
		"context":       {Target{Kubeconfig: kubeconfig(t, "https://cluster.test", nil, "a"), Context: "b"}, `no context "b"`},
		"server":        {Target{Kubeconfig: kubeconfig(t, "https://%zz", nil, "a")}, "kubeconfig"},
	} {
		t.Run(name, func(t *testing.T) {
			_, err := Open(tc.target, t.TempDir())
			if err == nil || codeOf(t, err) != CodeKubeconfig || !strings.Contains(err.Error(), tc.says) {
				t.Errorf("got %v", err)
			}
		})
	}
}

func TestInClusterElsewhere(t *testing.T) {
	t.Setenv("KUBERNETES_SERVICE_HOST", "")
	if _, err := InCluster(t.TempDir()); codeOf(t, err) != CodeNoPod {
		t.Errorf("got %v", err)
	}
}
