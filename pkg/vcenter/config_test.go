package vcenter_test

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/vcenter"
)

func TestLoad(t *testing.T) {
	c, err := vcenter.Load("vsphere.conf", []byte(`
vcenter:
  west: {server: vc-west.example, user: u, password: secret-1, datacenters: [dc1]}
  east: {server: vc-east.example, port: 8443, user: u, password: secret-2, insecureFlag: true}
labels: {region: r, zone: z}
`))
	if err != nil {
		t.Fatal(err)
	}
	if len(c.VCenters) != 2 || c.VCenters[0].Address() != "vc-east.example:8443" || c.VCenters[1].Address() != "vc-west.example:443" {
		t.Errorf("vCenters %v", c.VCenters)
	}
	if c.Region != "r" || c.Zone != "z" {
		t.Errorf("categories %s, %s", c.Region, c.Zone)
	}
	for _, text := range []string{fmt.Sprintf("%v", c), fmt.Sprintf("%+v", *c), fmt.Sprintf("%#v", c.VCenters[0]), fmt.Sprint(c.VCenters)} {
		if strings.Contains(text, "secret-") {
			t.Errorf("a password is in %s", text)
		}
	}
}

func TestLoadRefuses(t *testing.T) {
	for _, tc := range []struct{ name, text, want string }{
		{"unknown key", "vcenter:\n  west:\n    sever: a\n", "vsphere.conf:3: vcenter.west.sever: unknown key, did you mean server?"},
		{"url", "vcenter:\n  west: {server: 'https://a/', user: u, password: secret}\n", "vsphere.conf:2: vcenter.west.server:"},
		{"secret of a cluster", "vcenter:\n  west: {server: a, secretName: s, secretNamespace: n}\n", "in Secret n/s, which only a cluster can read"},
		{"no vCenter", "global: {user: u, password: secret}\n", "vCenter"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			_, err := vcenter.Load("vsphere.conf", []byte(tc.text))
			if err == nil || !strings.Contains(err.Error(), tc.want) || strings.Contains(err.Error(), "password: secret") {
				t.Errorf("error %v, want %s", err, tc.want)
			}
		})
	}
}

func TestFromEnvironment(t *testing.T) {
	known := filepath.Join(t.TempDir(), "known_hosts")
	print := strings.TrimSuffix(strings.Repeat("AB:", 32), ":")
	if err := os.WriteFile(known, []byte("# mine\nother:443 "+print+"\nvc.example "+print+"\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	c, err := vcenter.FromEnvironment([]string{
		"GOVC_URL=https://who:p%40ss@vc.example/sdk", "GOVC_INSECURE=1", "GOVC_TLS_KNOWN_HOSTS=" + known, "GOVC_DATACENTER=dc1",
	})
	if err != nil {
		t.Fatal(err)
	}
	v := c.VCenters[0]
	if v.User != "who" || v.Address() != "vc.example:443" || !v.Insecure || v.Thumbprint != print || v.Datacenters[0] != "dc1" {
		t.Errorf("%+v, thumbprint %q", v, v.Thumbprint)
	}
	c, err = vcenter.FromEnvironment([]string{"GOVC_URL=[::1]:8989", "GOVC_USERNAME=u", "GOVC_PASSWORD=p"})
	if err != nil || c.VCenters[0].Address() != "[::1]:8989" {
		t.Errorf("%v, %v", c, err)
	}
}

func TestFromEnvironmentRefuses(t *testing.T) {
	bad := filepath.Join(t.TempDir(), "known_hosts")
	if err := os.WriteFile(bad, []byte("vc.example:443 zz\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, tc := range []struct {
		environ []string
		want    string
	}{
		{nil, "GOVC_URL: is not set"},
		{[]string{"GOVC_URL=vc"}, "GOVC_USERNAME: is not set"},
		{[]string{"GOVC_URL=u:hush@vc/%zz"}, "GOVC_URL: is no URL"},
		{[]string{"GOVC_URL=http://u:hush@vc"}, "scheme is http"},
		{[]string{"GOVC_URL=u:hush@vc:0"}, "port is not from 1"},
		{[]string{"GOVC_URL=u:hush@vc/ui"}, "path is not /sdk"},
		// A password that has not been escaped.
		{[]string{"GOVC_URL=u:12/hush@vc"}, "path is not /sdk"},
		{[]string{"GOVC_URL=u:12?hush@vc"}, "path is not /sdk"},
		{[]string{"GOVC_URL=u:12#hush@vc"}, "path is not /sdk"},
		{[]string{"GOVC_URL=u:hush/1@vc"}, "GOVC_URL: is no URL"},
		{[]string{"GOVC_URL=u:hush@vc", "GOVC_INSECURE=maybe"}, "GOVC_INSECURE: must be true or false"},
		{[]string{"GOVC_URL=u:hush@vc", "GOVC_TLS_CA_CERTS=/nowhere/ca"}, "GOVC_TLS_CA_CERTS: open /nowhere/ca"},
		{[]string{"GOVC_URL=u:hush@vc.example", "GOVC_TLS_KNOWN_HOSTS=" + bad}, bad + ":1: must be"},
	} {
		_, err := vcenter.FromEnvironment(tc.environ)
		if err == nil || !strings.Contains(err.Error(), tc.want) || strings.Contains(err.Error(), "hush") {
			t.Errorf("%v: error %v", tc.environ, err)
		}
	}
}
