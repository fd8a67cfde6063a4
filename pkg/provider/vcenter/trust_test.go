package vcenter_test

import (
	"errors"
	"net"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/vsphere-sandbox/vsphere-sandbox/internal/cert"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/provider/vcenter"
)

// show makes the vCenter use a new certificate, signed by ca, for new connections.
func (v *target) show(t *testing.T, ca *cert.CA) *cert.Pair {
	t.Helper()
	pair, err := ca.Sign(cert.Leaf{CommonName: "rotated", IPs: []net.IP{net.ParseIP(v.Host())}})
	if err != nil {
		t.Fatal(err)
	}
	if err := v.Gate().SetCertificate(pair.TLS()); err != nil {
		t.Fatal(err)
	}
	v.Gate().CutConnections()
	return pair
}

func newCA(t *testing.T, name string) *cert.CA {
	t.Helper()
	ca, err := cert.NewCA(name)
	if err != nil {
		t.Fatal(err)
	}
	return ca
}

// A new certificate of the same authority is accepted without a log line.
func TestCertificateRenewed(t *testing.T) {
	v := start(t)
	c, _ := run(t, v.config())
	before := connect(t, c)
	if err := categories(c, t.Context()); err != nil {
		t.Fatal(err)
	}
	v.show(t, v.ca)
	eventually(t, "works", func() bool { return now(c, t.Context()) == nil && categories(c, t.Context()) == nil })
	if connect(t, c) != before {
		t.Error("the session is another one")
	}
}

// A certificate of another authority is refused with an error that explains what to do, until the CA file has that authority; then the
// same session continues.
func TestCertificateOfAnotherAuthority(t *testing.T) {
	v := start(t)
	cfg := v.config()
	cfg.CAData, cfg.CAFile = nil, filepath.Join(t.TempDir(), "ca.crt")
	cfg.FaultRetry = cfg.Retry
	write := func(ca *cert.CA) {
		t.Helper()
		if err := os.WriteFile(cfg.CAFile, ca.Cert, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	write(v.ca)
	c, _ := run(t, cfg)
	before := connect(t, c)
	if err := categories(c, t.Context()); err != nil {
		t.Fatal(err)
	}

	other := newCA(t, "somebody else")
	pair := v.show(t, other)
	eventually(t, "refused", func() bool { return errors.Is(now(c, t.Context()), vcenter.ErrCertificate) })
	thumb := thumbprint(pair.TLS().Certificate[0])
	for _, want := range []string{`issued by "somebody else"`, thumb, "unknown authority"} {
		if err := now(c, t.Context()); !strings.Contains(err.Error(), want) {
			t.Errorf("error %v, want %q in it", err, want)
		}
	}

	write(other)
	connect(t, c)
	eventually(t, "works", func() bool { return now(c, t.Context()) == nil && categories(c, t.Context()) == nil })
	if connect(t, c) != before {
		t.Error("the session is another one")
	}
	if soap, rest := v.open(); len(soap) != 1 || len(rest) != 1 {
		t.Errorf("sessions %v %v, want one each", soap, rest)
	}
}

// A pinned certificate is trusted with any signature, and no other.
func TestCertificatePinned(t *testing.T) {
	v := start(t)
	other := newCA(t, "somebody else")
	pair := v.show(t, other)
	cfg := v.config()
	cfg.Thumbprint = strings.ToLower(strings.ReplaceAll(thumbprint(pair.TLS().Certificate[0]), ":", ""))
	c, _ := run(t, cfg)
	connect(t, c)
	v.show(t, other)
	eventually(t, "refused", func() bool { return errors.Is(now(c, t.Context()), vcenter.ErrCertificate) })
	if err := now(c, t.Context()); !strings.Contains(err.Error(), "not the configured thumbprint") {
		t.Errorf("error %v", err)
	}
	v.show(t, v.ca) // trusted by its authority; the pin is for others
	connect(t, c)
}
