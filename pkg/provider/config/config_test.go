package config

import (
	"errors"
	"net/netip"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
)

func TestLoad(t *testing.T) {
	got, err := Load("vsphere.conf", []byte(`
global:
  user: global-user
  password: global-password
  port: 8443
  caFile: /etc/cloud/ca.crt
  datacenters: [dc1]
  soapRoundtripCount: 5
  ipFamily: [ipv6, ipv4]
vcenter:
  west:
    server: vc-west.example
  east:
    server: 192.0.2.7
    port: 443
    insecureFlag: true
    caFile: /other.crt
    thumbprint: AA:BB:CC:DD:EE:FF:00:11:22:33:44:55:66:77:88:99:aa:bb:cc:dd
    datacenters: [/eu/dc2, "Datacenter:datacenter-3"]
    secretName: creds
    secretNamespace: kube-system
    ipFamily: [ipv4]
labels:
  region: k8s-region
  zone: k8s-zone
nodes:
  internalNetworkSubnetCidr: "10.0.0.1/8, 2001:db8::/32"
  externalVmNetworkName: " public "
  excludeExternalNetworkSubnetCidr: 192.0.2.0/24
`))
	if err != nil {
		t.Fatal(err)
	}
	prefix := netip.MustParsePrefix
	want := &Config{
		Format: YAML,
		VCenters: []VCenter{
			{
				Tenant: "east", Server: "192.0.2.7", Port: 443, Secret: SecretRef{"kube-system", "creds"}, InsecureFlag: true,
				CAFile: "/other.crt", Thumbprint: "AA:BB:CC:DD:EE:FF:00:11:22:33:44:55:66:77:88:99:aa:bb:cc:dd",
				Datacenters: []string{"/eu/dc2", "Datacenter:datacenter-3"}, SOAPRoundtripCount: 5, IPFamilies: []IPFamily{IPv4},
			},
			{
				Tenant: "west", Server: "vc-west.example", Port: 8443, User: "global-user", Password: "global-password",
				CAFile: "/etc/cloud/ca.crt", Datacenters: []string{"dc1"}, SOAPRoundtripCount: 5, IPFamilies: []IPFamily{IPv6, IPv4},
			},
		},
		Labels: Labels{Region: "k8s-region", Zone: "k8s-zone"},
		Nodes: Nodes{
			InternalSubnets:        []netip.Prefix{prefix("10.0.0.0/8"), prefix("2001:db8::/32")},
			ExcludeExternalSubnets: []netip.Prefix{prefix("192.0.2.0/24")},
			ExternalVMNetwork:      "public",
		},
	}
	if diff := cmp.Diff(want, got, cmpopts.EquateComparable(netip.Prefix{})); diff != "" {
		t.Error(diff)
	}
}

func TestLoadDefaults(t *testing.T) {
	got, err := Load("c", []byte("global: {server: vc, secretName: s, secretNamespace: n}"))
	if err != nil {
		t.Fatal(err)
	}
	want := []VCenter{{Tenant: "vc", Server: "vc", Port: 443, Secret: SecretRef{"n", "s"}, SOAPRoundtripCount: 3, IPFamilies: []IPFamily{IPv4}}}
	if diff := cmp.Diff(want, got.VCenters); diff != "" {
		t.Error(diff)
	}
}

func TestWarnings(t *testing.T) {
	got, err := Load("c", []byte(`
global: {server: vc, user: u, password: p, apiDisable: true}
labels: {zone: k8s-zone}
loadBalancer: {size: MEDIUM, tags: {}}
`))
	if err != nil {
		t.Fatal(err)
	}
	want := []string{
		"c:2: global.apiDisable: has no effect",
		"c:3: labels.zone: has no effect: set both region and zone",
		"c:4: loadBalancer: has no effect without nsxt, which says where NSX is",
	}
	if diff := cmp.Diff(want, got.Warnings); diff != "" {
		t.Error(diff)
	}
}

func TestErrors(t *testing.T) {
	const ok = "global: {user: u, password: p}\nvcenter: {a: {server: vc}}\n"
	for _, tc := range []struct {
		name, data string
		want       []string
	}{
		{"empty", "", []string{"vsphere.conf: file is empty"}},
		{"comment only", "# nothing\n", []string{"vsphere.conf: file is empty"}},
		{"not yaml", "global: {", []string{"vsphere.conf:1: did not find expected node content"}},
		{"a list", "- a\n", []string{"vsphere.conf:1: must be a mapping, not a list"}},
		{"kebab case", "global:\n  user: u\n  password: p\n  insecure-flag: true\nvcenter: {a: {server: vc, ca-file: x}}\n", []string{
			"vsphere.conf:4: global.insecure-flag: unknown key, did you mean insecureFlag?",
			"vsphere.conf:5: vcenter.a.ca-file: unknown key, did you mean caFile?",
		}},
		{"typo", ok + "label: {region: r}\n", []string{"vsphere.conf:3: label: unknown key, did you mean labels?"}},
		{"unknown", ok + "whatever: 1\n", []string{"vsphere.conf:3: whatever: unknown key"}},
		{"secrets directory", ok + "global2: 1\nnodes: {secretsDirectory: x}\n", []string{
			"vsphere.conf:3: global2: unknown key, did you mean global?",
			"vsphere.conf:4: nodes.secretsDirectory: unknown key, did you mean global.secretsDirectory?",
		}},
		{"duplicate", "vcenter: {a: {server: vc, user: u, password: p}}\nvcenter: {}\n", []string{`vsphere.conf:2: mapping key "vcenter" already defined at line 1`}},
		{"wrong types", "global: {port: many, user: [u], password: p}\nvcenter: {a: {server: vc}}\n", []string{
			`vsphere.conf:1: global.port: must be a whole number, not the text "many"`, "vsphere.conf:1: global.user: must be text, not a list",
		}},
		{"no vcenter", "global: {user: u, password: p}\n", []string{"vsphere.conf: no vCenter is configured"}},
		{"everything at once", "global:\n  port: 99999\nvcenter:\n  a:\n    secretName: s\n    ipFamily: [ipv5, ipv4, IPv4]\n    thumbprint: 12\n    soapRoundtripCount: -1\n  b: {server: https://vc/sdk, user: u}\nnodes: {internalNetworkSubnetCidr: 10.0.0.0}\n", []string{
			"vsphere.conf:4: vcenter.a: server is missing",
			"vsphere.conf:5: vcenter.a.secretName: a Secret's name and namespace must be set together",
			"vsphere.conf:2: global.port: 99999 is out of range",
			`vsphere.conf:6: vcenter.a.ipFamily: "ipv5" is neither ipv4 nor ipv6`,
			`vsphere.conf:6: vcenter.a.ipFamily: "IPv4" is listed twice`,
			`vsphere.conf:7: vcenter.a.thumbprint: "12"`,
			"vsphere.conf:8: vcenter.a.soapRoundtripCount: -1 is less than 1",
			`vsphere.conf:9: vcenter.b.server: "https://vc/sdk": must be a host name or address`,
			"vsphere.conf:9: vcenter.b: credentials are missing",
			`vsphere.conf:10: nodes.internalNetworkSubnetCidr: "10.0.0.0" is not a network`,
		}},
		{"too large", strings.Repeat("#", MaxSize+1), []string{"vsphere.conf: is longer than the 1 MiB a cloud config may have"}},
	} {
		t.Run(tc.name, func(t *testing.T) {
			_, err := Load("vsphere.conf", []byte(tc.data))
			var e *Error
			if !errors.As(err, &e) {
				t.Fatalf("got %v", err)
			}
			for _, want := range tc.want {
				if !strings.Contains(err.Error(), want) {
					t.Errorf("error\n%s\nlacks %s", err, want)
				}
			}
			if n := len(e.Problems); n != len(tc.want) {
				t.Errorf("%d problems, want %d:\n%s", n, len(tc.want), err)
			}
		})
	}
}

func TestLoadFile(t *testing.T) {
	name := filepath.Join(t.TempDir(), "vsphere.conf")
	if _, err := LoadFile(name); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("got %v", err)
	}
	if err := os.WriteFile(name, []byte("global: {server: vc, user: u, password: p}"), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := LoadFile(name); err != nil {
		t.Error(err)
	}
}

func FuzzLoad(f *testing.F) {
	f.Add("global: {server: vc, user: u, password: p}")
	f.Add("vcenter: {a: &x {server: vc}, b: *x, c: }")
	f.Add("global: &g {user: u, secretName: s, secretNamespace: n, datacenters: [a, 'b,c'], ipFamily: [ipv6]}\nvcenter: {x: {<<: *g, server: 'fd01::1'}}")
	f.Fuzz(func(t *testing.T, text string) { loadTwice(t, text) })
}
