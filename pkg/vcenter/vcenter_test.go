package vcenter_test

import (
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/vmware/govmomi/vapi/rest"
	"github.com/vmware/govmomi/vim25"
	"github.com/vmware/govmomi/vim25/methods"

	client "github.com/vsphere-sandbox/vsphere-sandbox/pkg/provider/vcenter"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/sim"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/sim/stocksim"
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

const tiny = `
apiVersion: sandbox.vsphere/v1alpha1
kind: Topology
metadata: {name: tiny}
spec:
  vcenters:
    - name: vc
      datacenters:
        - {name: dc, hosts: [{name: esx-1}], vms: [{name: a}]}
`

func connect(t *testing.T, v vcenter.VCenter) (*vcenter.Connection, error) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 20*time.Second)
	defer cancel()
	c, err := v.Connect(ctx, vcenter.Options{UserAgent: "test"})
	if err == nil {
		t.Cleanup(c.Close)
	}
	return c, err
}

// works makes a call.
func works(t *testing.T, c *vcenter.Connection) {
	t.Helper()
	err := c.Do(t.Context(), func(ctx context.Context, vim *vim25.Client) error {
		_, err := methods.GetCurrentTime(ctx, vim)
		return err
	})
	if err != nil {
		t.Error(err)
	}
}

func stock(t *testing.T, hosts, vms int) vcenter.VCenter {
	t.Helper()
	s, err := stocksim.Start(hosts, vms)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(s.Remove)
	password, _ := s.URL().User.Password()
	c, err := vcenter.FromEnvironment([]string{
		"GOVC_URL=" + s.URL().Host, "GOVC_USERNAME=" + s.URL().User.Username(), "GOVC_PASSWORD=" + password,
	})
	if err != nil {
		t.Fatal(err)
	}
	return c.VCenters[0]
}

// TestTrust goes the way that a person goes: the error says what to write, and what it says works.
func TestTrust(t *testing.T) {
	v := stock(t, 1, 1)
	_, err := connect(t, v)
	var untrusted *vcenter.UntrustedError
	if !errors.As(err, &untrusted) || !errors.Is(err, client.ErrCertificate) {
		t.Fatalf("error %v", err)
	}
	for _, want := range []string{untrusted.Fingerprint, "subject", "GOVC_TLS_CA_CERTS", "GOVC_TLS_KNOWN_HOSTS", v.Address()} {
		if want == "" || !strings.Contains(err.Error(), want) {
			t.Errorf("error %v does not hold %q", err, want)
		}
	}
	v.Thumbprint = untrusted.Fingerprint
	c, err := connect(t, v)
	if err != nil {
		t.Fatal(err)
	}
	works(t, c)
	v.Thumbprint = strings.Repeat("00", 32)
	if _, err := connect(t, v); !errors.As(err, &untrusted) {
		t.Errorf("another thumbprint: %v", err)
	}
}

// TestTrustByAnotherName has a certificate for other names, for which another authority is no remedy.
func TestTrustByAnotherName(t *testing.T) {
	v := stock(t, 1, 1)
	v.Server = "localhost" // the certificate is for 127.0.0.1
	_, err := connect(t, v)
	var untrusted *vcenter.UntrustedError
	if !errors.As(err, &untrusted) || !strings.Contains(untrusted.Try, "by a name that is in the certificate") ||
		strings.Contains(untrusted.Try, "GOVC_TLS_CA_CERTS") {
		t.Fatalf("error %v", err)
	}
	v.Thumbprint = untrusted.Fingerprint
	c, err := connect(t, v)
	if err != nil {
		t.Fatal(err)
	}
	works(t, c)
}

func TestConnectToTheSandbox(t *testing.T) {
	lab := sim.Start(t, tiny)
	config, err := vcenter.LoadFile(lab.CloudConfigFile())
	if err != nil {
		t.Fatal(err)
	}
	c, err := connect(t, config.VCenters[0])
	if err != nil {
		t.Fatal(err)
	}
	works(t, c)
	err = c.DoREST(t.Context(), func(ctx context.Context, rc *rest.Client) error {
		if s, err := rc.Session(ctx); err != nil || s == nil {
			return fmt.Errorf("session %v: %w", s, err)
		}
		return nil
	})
	if err != nil {
		t.Error(err)
	}
	vc, _ := lab.VCenter("vc")
	c.Close()
	if n := len(vc.Sessions()); n != 0 {
		t.Errorf("%d sessions after the end", n)
	}
}

func TestConnectRefused(t *testing.T) {
	lab := sim.Start(t, tiny)
	vc, _ := lab.VCenter("vc")
	environ := []string{"GOVC_URL=" + vc.Addr(), "GOVC_USERNAME=" + vc.User(), "GOVC_PASSWORD=hush", "GOVC_TLS_CA_CERTS=" + lab.CAFile}
	config, err := vcenter.FromEnvironment(environ)
	if err != nil {
		t.Fatal(err)
	}
	_, err = connect(t, config.VCenters[0])
	if !errors.Is(err, client.ErrInvalidLogin) || strings.Contains(err.Error(), "hush") {
		t.Errorf("wrong password: %v", err)
	}
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	environ[0] = "GOVC_URL=" + l.Addr().String()
	if err := l.Close(); err != nil {
		t.Fatal(err)
	}
	if config, err = vcenter.FromEnvironment(environ); err != nil {
		t.Fatal(err)
	}
	if _, err := connect(t, config.VCenters[0]); err == nil || !strings.Contains(err.Error(), "refused") {
		t.Errorf("nobody there: %v", err)
	}
}
