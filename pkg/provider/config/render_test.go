package config

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestYAMLOfConfig(t *testing.T) {
	cfg, err := Load("c", []byte(`
global: {secretsDirectory: /d, thumbprint: `+fingerprint+`}
vcenter:
  a: {server: '[fd01::1]', ipFamily: [ipv6, ipv4], datacenters: [dc, 'yes']}
  b: {server: vc-b, user: u, password: hush, insecureFlag: true, port: 8443, caFile: /ca.crt}
labels: {region: r, zone: z}
nodes: {excludeExternalNetworkSubnetCidr: '10.1.2.3/8, fd00::/8', externalVmNetworkName: VM Network}
`))
	if err != nil {
		t.Fatal(err)
	}
	masked, err := cfg.Masked().YAML()
	if err != nil {
		t.Fatal(err)
	}
	const want = `global:
  secretsDirectory: /d
vcenter:
  a:
    server: fd01::1
    port: 443
    insecureFlag: false
    thumbprint: ` + fingerprint + `
    datacenters:
      - dc
      - "yes"
    soapRoundtripCount: 3
    ipFamily: [ipv6, ipv4]
  b:
    server: vc-b
    port: 8443
    user: u
    password: '********'
    insecureFlag: true
    caFile: /ca.crt
    thumbprint: ` + fingerprint + `
    soapRoundtripCount: 3
    ipFamily: [ipv4]
labels:
  region: r
  zone: z
nodes:
  externalVmNetworkName: VM Network
  excludeExternalNetworkSubnetCidr: 10.0.0.0/8,fd00::/8
`
	if diff := cmp.Diff(want, string(masked)); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	plain, err := cfg.YAML()
	if err != nil || cfg.VCenters[1].Password != "hush" || string(plain) != strings.Replace(want, "'********'", "hush", 1) {
		t.Errorf("%v\n%s", err, plain)
	}
}
