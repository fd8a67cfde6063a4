package config

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestEnvironmentAlone(t *testing.T) {
	got, err := LoadEnvironment([]string{
		"PATH=/bin", "HOME", "VSPHERE_SANDBOX_NAME=x", "VCENTER_unheard_PORT=1", "VSPHERE_VCENTER_=x", "VSPHERE_VCENTER_EMPTY=",
		"VSPHERE_VCENTER=main", "VSPHERE_VCENTER_PORT=444", "VSPHERE_USER=u", "VSPHERE_PASSWORD=a=b", "VSPHERE_INSECURE=false",
		"VSPHERE_VCENTER_1=west", "VCENTER_1_SERVER=vc-west", "VCENTER_1_PASSWORD=w", "VCENTER_1_IP_FAMILY=", "VCENTER_1_INSECURE=true",
		"VSPHERE_VCENTER_two=fd01::1", "VCENTER_two_PORT=8443", "VCENTER_two_IP_FAMILY=ipv6,ipv4", "VCENTER_two_ROUNDTRIP=9",
		"SKIP_NODE_DELETION=", "ENABLE_ALPHA_DUAL_STACK=true",
	})
	if err != nil {
		t.Fatal(err)
	}
	want := &Config{
		SkipNodeDeletion: true, AlphaDualStack: true,
		VCenters: []VCenter{
			{Tenant: "fd01::1", Server: "fd01::1", Port: 8443, User: "u", Password: "a=b", SOAPRoundtripCount: 9, IPFamilies: []IPFamily{IPv6, IPv4}},
			{Tenant: "main", Server: "main", Port: 444, User: "u", Password: "a=b", SOAPRoundtripCount: 3, IPFamilies: []IPFamily{IPv4}},
			{Tenant: "west", Server: "vc-west", Port: 444, User: "u", Password: "w", InsecureFlag: true, SOAPRoundtripCount: 3, IPFamilies: []IPFamily{IPv4}},
		},
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

// A variable refers to a vCenter by tenant, by server or to a new one; variables override the file.
func TestEnvironmentOverFile(t *testing.T) {
	const conf = `
global: {user: u, password: p, port: 1, insecureFlag: true}
vcenter:
  west: {server: vc-west, insecureFlag: true}
  East: {server: vc-east, port: 2}
  gone: {}
`
	got, err := Load("c", []byte(conf), WithEnvironment([]string{
		"VSPHERE_VCENTER_PORT=10", "VSPHERE_VCENTER_a=VC-West", "VCENTER_a_INSECURE=false", "VSPHERE_VCENTER_b=east", "VCENTER_b_PORT=20",
		"VSPHERE_VCENTER_c=gone", "VCENTER_c_SERVER=vc-gone", "VSPHERE_VCENTER_d=new", "SKIP_NODE_DELETION=false",
	}))
	if err != nil {
		t.Fatal(err)
	}
	var lines []string
	for _, vc := range got.VCenters {
		lines = append(lines, strings.Join([]string{vc.Tenant, vc.Server, map[bool]string{true: "insecure"}[vc.InsecureFlag], string(rune('a' + vc.Port))}, " "))
	}
	want := []string{"East vc-east insecure u", "gone vc-gone insecure k", "new new insecure k", "west vc-west  k"}
	if diff := cmp.Diff(want, lines); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	if diff := cmp.Diff([]string{`environment: SKIP_NODE_DELETION: counts as set: its value "false" is ignored`}, got.Warnings); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

func TestEnvironmentErrors(t *testing.T) {
	_, err := Load("c", []byte("global: {server: a/b, user: u, password: p}"), WithEnvironment([]string{
		"VSPHERE_VCENTER_PORT=https", "VSPHERE_INSECURE=maybe", "VSPHERE_VCENTER_1=vc1", "VCENTER_1_PORT=65536", "VCENTER_1_IP_FAMILY=ipv5",
		"VSPHERE_NODES_INTERNAL_NETWORK_SUBNET_CIDR=10.0.0.0", "VSPHERE_THUMBPRINT=xx",
	}))
	want := `c:1: global.server: "a/b": must be a host name or address without scheme, port or path
environment: VSPHERE_VCENTER_PORT: must be a whole number, not "https"
environment: VSPHERE_INSECURE: must be true or false, not "maybe"
environment: VSPHERE_NODES_INTERNAL_NETWORK_SUBNET_CIDR: "10.0.0.0" is not a network like 10.0.0.0/8, write 10.0.0.0/32 for the address alone
environment: VSPHERE_THUMBPRINT: "xx": must be a SHA-1 or SHA-256 fingerprint with colons
environment: VCENTER_1_PORT: 65536 is out of range
environment: VCENTER_1_IP_FAMILY: "ipv5" is neither ipv4 nor ipv6`
	if err == nil {
		t.Fatal("loaded")
	}
	if diff := cmp.Diff(want, err.Error()); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	if _, err := LoadEnvironment(nil); err == nil || err.Error() != "environment: no vCenter is configured" {
		t.Error(err)
	}
}
