package manifests

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"

	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/provider/config"
)

// loaded is vsphere.conf as the provider reads it, without a problem or a warning.
func loaded(t *testing.T, all objects) *config.Config {
	t.Helper()
	text := one[*corev1.ConfigMap](t, all).Data["vsphere.conf"]
	cfg, problems := config.Check("vsphere.conf", []byte(text))
	for _, p := range problems {
		t.Errorf("%v\n%s", p, text)
	}
	if cfg == nil {
		t.FailNow()
	}
	return cfg
}

// The base says the same with Secret and ConfigMap: every vCenter has credentials.
func TestBaseConfiguration(t *testing.T) {
	all := kustomized(t)
	cfg := loaded(t, all)
	if cfg.Labels != (config.Labels{}) {
		t.Errorf("labels are %v: a vCenter without tags would leave every node tainted", cfg.Labels)
	}
	secret := one[*corev1.Secret](t, all)
	for _, vc := range cfg.VCenters {
		if ref := (config.SecretRef{Namespace: secret.Namespace, Name: secret.Name}); vc.Secret != ref {
			t.Errorf("vcenter %s: its Secret is %v, there is %v", vc.Tenant, vc.Secret, ref)
		}
		checkCredentials(t, secret, []string{vc.Server}, "CHANGE-ME", "CHANGE-ME")
	}
}

const several = `
vcenters:
  - name: west
    server: vc-west.test
    port: 8443
    datacenters: [dc1, /eu/dc2, "Datacenter:datacenter-3"]
    ca: |
      -----BEGIN CERTIFICATE-----
      AAAA
      -----END CERTIFICATE-----
    ipFamily: [ipv6, ipv4]
    soapRoundtripCount: 5
    secretName: west
  - name: east
    server: VC-East.test
    thumbprint: 00:11:22:33:44:55:66:77:88:99:AA:BB:CC:DD:EE:FF:00:11:22:33
    username: 'DOMAIN\user'
    password: 'p: "#{{ x }}'
  - name: six
    server: fd00::6
    caFile: /etc/ca/six.crt
    username: six
    password: pass
  - name: lax
    server: 10.0.0.1
    insecureFlag: true
    username: lax
    password: "1234"
labels: {region: k8s-region, zone: k8s-zone}
nodes:
  internalNetworkSubnetCidr: 10.0.0.0/8,fd00::/8
  externalNetworkSubnetCidr: 192.0.2.0/24
  internalVmNetworkName: net one
  externalVmNetworkName: net two
  excludeInternalNetworkSubnetCidr: 10.1.0.0/16
  excludeExternalNetworkSubnetCidr: 192.0.2.1/32
`

// Everything that can be said of several vCenters comes through.
func TestSeveralVCenters(t *testing.T) {
	all := helmed(t, "ccm", several)
	shared, own := config.SecretRef{Namespace: "ccm", Name: "vsphere-cloud-secret"}, config.SecretRef{Namespace: "ccm", Name: "west"}
	v4 := []config.IPFamily{config.IPv4}
	want := []config.VCenter{
		{
			Tenant: "east", Server: "VC-East.test", Port: 443, Secret: shared, SOAPRoundtripCount: 3, IPFamilies: v4,
			Thumbprint: "00:11:22:33:44:55:66:77:88:99:AA:BB:CC:DD:EE:FF:00:11:22:33",
		},
		{Tenant: "lax", Server: "10.0.0.1", Port: 443, Secret: shared, InsecureFlag: true, SOAPRoundtripCount: 3, IPFamilies: v4},
		{Tenant: "six", Server: "fd00::6", Port: 443, Secret: shared, CAFile: "/etc/ca/six.crt", SOAPRoundtripCount: 3, IPFamilies: v4},
		{
			Tenant: "west", Server: "vc-west.test", Port: 8443, Secret: own, CAFile: "/etc/cloud/ca-west.crt",
			Datacenters: []string{"dc1", "/eu/dc2", "Datacenter:datacenter-3"}, SOAPRoundtripCount: 5,
			IPFamilies: []config.IPFamily{config.IPv6, config.IPv4},
		},
	}
	cfg := loaded(t, all)
	if diff := cmp.Diff(want, cfg.VCenters); diff != "" {
		t.Errorf("vCenters (-want +got):\n%s", diff)
	}
	if want := (config.Labels{Region: "k8s-region", Zone: "k8s-zone"}); cfg.Labels != want {
		t.Errorf("labels are %v", cfg.Labels)
	}
	if n := cfg.Nodes; len(n.InternalSubnets) != 2 || len(n.ExternalSubnets) != 1 || len(n.ExcludeInternalSubnets) != 1 ||
		len(n.ExcludeExternalSubnets) != 1 || n.InternalVMNetwork != "net one" || n.ExternalVMNetwork != "net two" {
		t.Errorf("nodes are %+v", n)
	}
	ca := one[*corev1.ConfigMap](t, all).Data["ca-west.crt"]
	if want := "-----BEGIN CERTIFICATE-----\nAAAA\n-----END CERTIFICATE-----\n"; ca != want {
		t.Errorf("ca-west.crt is %q", ca)
	}
	secret := one[*corev1.Secret](t, all)
	checkCredentials(t, secret, []string{"vc-east.test"}, `DOMAIN\user`, `p: "#{{ x }}`)
	checkCredentials(t, secret, []string{"fd00::6"}, "six", "pass")
	checkCredentials(t, secret, []string{"10.0.0.1"}, "lax", "1234")
	if len(secret.StringData) != 7 {
		t.Errorf("the Secret has %d keys", len(secret.StringData))
	}
}

// checkCredentials checks what the provider finds under the first of the names that the Secret has.
func checkCredentials(t *testing.T, secret *corev1.Secret, names []string, user, password string) {
	t.Helper()
	data := map[string][]byte{}
	for key, value := range secret.StringData {
		data[key] = []byte(value)
		if strings.Contains(key, ":") {
			t.Errorf("key %s: the API server refuses it", key)
		}
	}
	parsed := config.ParseSecret(secret.Name, data)
	got, err := parsed.For(names...)
	if err != nil || got.User != user || got.Password != password {
		t.Errorf("%s: %q and %q, %v", names, got.User, got.Password, err)
	}
}

// Existing credentials are neither created nor overwritten.
func TestNoSecretIsCreated(t *testing.T) {
	for _, values := range []string{
		`{credentials: {create: false, secretName: mine}, vcenters: [{name: a, server: a.test}]}`,
		`{vcenters: [{name: a, server: a.test, secretName: mine}]}`,
		`{config: {create: false}}`,
	} {
		for key, o := range helmed(t, "kube-system", values) {
			if _, ok := o.(*corev1.Secret); ok {
				t.Errorf("%s: %s is there", values, key)
			}
		}
	}
}

// Several connections to one server have an account each, by their names. (kubernetes/cloud-provider-vsphere#233)
func TestSeveralConnections(t *testing.T) {
	for _, server := range []string{"vc.test", "fd00::6"} {
		all := helmed(t, "ccm", strings.ReplaceAll(`
vcenters:
  - {name: be, server: SERVER, datacenters: [dc-be], insecureFlag: true, username: be, password: pw-be}
  - {name: team.ux, server: SERVER, datacenters: [dc-ux], insecureFlag: true, username: ux, password: pw-ux}
`, "SERVER", `"`+server+`"`))
		cfg := loaded(t, all)
		for i, name := range []string{"be", "ux"} {
			checkCredentials(t, one[*corev1.Secret](t, all), cfg.VCenters[i].SecretKeys(), name, "pw-"+name)
		}
	}
}
