package vcenter_test

import (
	"context"
	"errors"
	"fmt"
	"net"
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
