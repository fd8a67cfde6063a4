package existing

import (
	"context"
	"encoding/pem"
	"errors"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/version"
	"k8s.io/client-go/rest"
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

func TestReach(t *testing.T) {
	says := func(status int, v any) http.HandlerFunc {
		return func(w http.ResponseWriter, r *http.Request) {
			if r.URL.Path != "/version" || r.Header.Get("User-Agent") == "" {
				t.Errorf("asked for %s", r.URL)
			}
			answer(t, w, status, v)
		}
	}
	for name, tc := range map[string]struct {
		handler http.HandlerFunc
		code    string
	}{
		"good":         {says(200, version.Info{Major: "1", Minor: "36", GitVersion: "v1.36.4"}), ""},
		"plus":         {says(200, version.Info{Major: "1", Minor: "31+", GitVersion: "v1.31.2-eks"}), ""},
		"old":          {says(200, version.Info{Major: "1", Minor: "27", GitVersion: "v1.27.1"}), CodeVersion},
		"no version":   {says(200, map[string]string{"hello": "world"}), CodeUnreachable},
		"no JSON":      {func(w http.ResponseWriter, _ *http.Request) { _, _ = w.Write([]byte("<html>")) }, CodeUnreachable},
		"unauthorized": {says(401, metav1.Status{Status: "Failure", Code: 401, Reason: metav1.StatusReasonUnauthorized}), CodeCredentials},
		"forbidden":    {says(403, metav1.Status{Status: "Failure", Code: 403, Reason: metav1.StatusReasonForbidden}), CodeRights},
		"broken":       {says(500, metav1.Status{Status: "Failure", Code: 500}), CodeUnreachable},
	} {
		t.Run(name, func(t *testing.T) {
			v, err := served(t, tc.handler).Reach(t.Context())
			if code := codeOf(t, err); code != tc.code || code == "" && v.GitVersion == "" {
				t.Errorf("got %v, %v", v, err)
			}
		})
	}
}

// No listener; another certificate; Ctrl-C.
func TestReachFails(t *testing.T) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	unreachable := "https://" + l.Addr().String()
	l.Close()
	server := httptest.NewTLSServer(http.NotFoundHandler())
	defer server.Close()
	server.Config.ErrorLog = nil
	for url, want := range map[string]string{unreachable: CodeUnreachable, server.URL: CodeCertificate} {
		c := &Cluster{context: "lab", rest: &rest.Config{Host: url}}
		if err := c.connect(); err != nil {
			t.Fatal(err)
		}
		_, err := c.Reach(t.Context())
		if codeOf(t, err) != want || !strings.Contains(err.Error(), url) {
			t.Errorf("%s: %v", url, err)
		}
		ctx, cancel := context.WithCancel(t.Context())
		cancel()
		if _, err := c.Reach(ctx); !errors.Is(err, context.Canceled) {
			t.Errorf("interrupted: %v", err)
		}
	}
}
