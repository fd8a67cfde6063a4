package cluster_test

import (
	"os"
	"path/filepath"
	"testing"

	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"

	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/cluster"
)

func TestWriteToken(t *testing.T) {
	const direct, forwarded = "127.0.0.1:6443", "127.0.0.2:9"
	for _, tc := range []struct {
		name string
		to   rest.Config
		addr string
		// serverName is whom the certificate has to be for, where that is not whom the connection goes to.
		serverName, caFile string
	}{
		{"where it serves", rest.Config{Host: "https://" + direct, TLSClientConfig: rest.TLSClientConfig{CAData: []byte("ca")}}, direct, "", ""},
		{"another port of the host", rest.Config{Host: "https://" + direct, TLSClientConfig: rest.TLSClientConfig{CAData: []byte("ca")}}, "127.0.0.1:1", "", ""},
		{"forwarded", rest.Config{Host: "https://" + direct, TLSClientConfig: rest.TLSClientConfig{CAData: []byte("ca")}}, forwarded, "127.0.0.1", ""},
		{"forwarded, of a name", rest.Config{Host: "https://api.example:6443/prefix", TLSClientConfig: rest.TLSClientConfig{CAData: []byte("ca")}}, forwarded, "api.example", ""},
		{"with a name of its own", rest.Config{Host: "https://" + direct, TLSClientConfig: rest.TLSClientConfig{CAData: []byte("ca"), ServerName: "kubernetes"}}, forwarded, "kubernetes", ""},
		{"authority in a file", rest.Config{Host: "https://" + direct, TLSClientConfig: rest.TLSClientConfig{CAFile: "/pki/ca.crt"}}, direct, "", "/pki/ca.crt"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			path := filepath.Join(t.TempDir(), "kubeconfig")
			if err := cluster.WriteToken(&tc.to, path, tc.addr, "/run/token"); err != nil {
				t.Fatal(err)
			}
			if info, err := os.Stat(path); err != nil || info.Mode().Perm() != 0o600 {
				t.Errorf("%v, %v", info, err)
			}
			raw, err := clientcmd.LoadFromFile(path)
			if err != nil {
				t.Fatal(err)
			}
			c := raw.Clusters["default"]
			if raw.CurrentContext != "default" || len(raw.Contexts) != 1 || c.Server != "https://"+tc.addr || c.TLSServerName != tc.serverName ||
				c.CertificateAuthority != tc.caFile || string(c.CertificateAuthorityData) != string(tc.to.CAData) {
				t.Errorf("%+v, cluster %+v", raw, c)
			}
			user := raw.AuthInfos["default"]
			if user.TokenFile != "/run/token" || user.Token != "" || len(user.ClientCertificateData) > 0 {
				t.Errorf("user %+v", user)
			}
		})
	}
	blind := filepath.Join(t.TempDir(), "kubeconfig")
	if err := cluster.WriteToken(&rest.Config{Host: "https://api.example", TLSClientConfig: rest.TLSClientConfig{Insecure: true}}, blind, forwarded, "t"); err != nil {
		t.Fatal(err)
	}
	if raw, err := clientcmd.LoadFromFile(blind); err != nil || !raw.Clusters["default"].InsecureSkipTLSVerify {
		t.Errorf("a certificate that nobody verifies: %+v, %v", raw, err)
	}
	if err := cluster.WriteToken(&rest.Config{Host: "https://[::1"}, filepath.Join(t.TempDir(), "kubeconfig"), direct, "t"); err == nil {
		t.Error("an address that is none is taken")
	}
	if err := cluster.WriteToken(&rest.Config{Host: "https://" + direct}, filepath.Join(t.TempDir(), "none", "x", "\x00"), direct, "t"); err == nil {
		t.Error("written to nowhere")
	}
}
