package strict_test

import (
	"testing"

	"github.com/vsphere-sandbox/vsphere-sandbox/internal/strict"
)

func TestRecognize(t *testing.T) {
	for text, want := range map[string]struct {
		use  strict.Use
		what string
	}{
		"":                                     {},
		"a: b":                                 {},
		"[1, 2]":                               {},
		"a: {":                                 {},
		"{\"a\": 1}":                           {},
		"kind: Topology":                       {},
		"vcenters: [{name: vc}]\nnetworks: []": {},
		"apiVersion: sandbox.vsphere/v1alpha1\nkind: Topology":                            {strict.UseTopology, "a topology"},
		"apiVersion: vsphere-sandbox/v1alpha1\nkind: Scenario":                            {strict.UseScenario, "a scenario"},
		"apiVersion: v1\nkind: Topology":                                                  {}, // one with a slip in it
		"[Global]\nuser = a":                                                              {strict.UseCloudConfig, "a vsphere.conf in INI"},
		"; x\n [ virtualcenter \"10.0.0.1\" ] # y\nuser = a":                              {strict.UseCloudConfig, "a vsphere.conf in INI"},
		"[Global]\ncluster-id = \"x\"":                                                    {strict.UseCloudConfig, "a csi-vsphere.conf, the configuration of the CSI driver"},
		"global: {}\nvcenter: {}":                                                         {strict.UseCloudConfig, "a vsphere.conf in YAML"},
		"apiVersion: v1\nkind: ConfigMap\ndata: {vsphere.conf: x}":                        {strict.UseKubernetes, "a Kubernetes ConfigMap with a vsphere.conf in it"},
		"apiVersion: v1\nkind: Secret\nstringData: {csi-vsphere.conf: x}":                 {strict.UseKubernetes, "a Kubernetes Secret with a csi-vsphere.conf in it"},
		"apiVersion: v1\nkind: Secret\ndata: {vc.example.net.username: YQ==}":             {strict.UseKubernetes, "a Kubernetes Secret with the credentials of a vCenter"},
		"apiVersion: v1\nkind: ConfigMap\ndata:\n  config: |\n    [Global]\n    user = a": {strict.UseKubernetes, "a Kubernetes ConfigMap with a vsphere.conf in its key config"},
		"user = a\n[Global]":                                                              {strict.UseCloudConfig, "a vsphere.conf in INI"},
		"---\napiVersion: v1\nkind: Secret\n---\napiVersion: v1\nkind: ConfigMap":         {strict.UseKubernetes, "a Kubernetes manifest: Secret, ConfigMap"},
		"config: {enabled: true, vcenter: 10.0.0.1}":                                      {strict.UseInstaller, "a file of Helm values for the vsphere-cpi chart"},
		"rancher_kubernetes_engine_config: {cloud_provider: {}}":                          {strict.UseInstaller, "a cluster.yml of RKE"},
	} {
		if use, what := strict.Recognize([]byte(text)); use != want.use || what != want.what {
			t.Errorf("%q: %q, %q, want %q, %q", text, use, what, want.use, want.what)
		}
	}
}

func TestEncoding(t *testing.T) {
	for text, want := range map[string]string{
		"": "", "ä": "", "\ufeff[Global]": "", "\xe4": "is not UTF-8 text", "\xff\xfea\x00": "is UTF-16 text", "\xfe\xff\x00a": "is UTF-16 text",
		"#\x00a\x00": "is UTF-16 text", "\x00#\x00a": "is UTF-16 text", "a\x00": "",
	} {
		if got, _ := strict.Encoding([]byte(text)); got != want {
			t.Errorf("%q: %q, want %q", text, got, want)
		}
	}
}
