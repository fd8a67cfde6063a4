package sim

import (
	"context"
	"crypto/x509"
	"net"
	"net/url"
	"testing"
	"time"

	"github.com/vmware/govmomi/session"
	"github.com/vmware/govmomi/vim25"
	"github.com/vmware/govmomi/vim25/soap"
)

// TestConsoleAccount: the operator can log in at the console regardless of other accounts.
func TestConsoleAccount(t *testing.T) {
	lab := Start(t, "../../scenarios/single.yaml")
	v := lab.VCenters()[0]
	if err := v.SetPassword("another"); err != nil {
		t.Fatal(err)
	}
	before := len(v.Sessions())
	sc := soap.NewClient(v.URL(), false)
	if err := sc.SetRootCAs(lab.CAFile); err != nil {
		t.Fatal(err)
	}
	sc.DefaultTransport().DialContext = func(ctx context.Context, _, _ string) (net.Conn, error) { return v.DialConsole(ctx) }
	c, err := vim25.NewClient(t.Context(), sc)
	if err != nil {
		t.Fatal(err)
	}
	m := session.NewManager(c)
	if err := m.Login(t.Context(), v.Console()); err != nil {
		t.Fatal(err)
	}
	if n := len(v.Sessions()); n != before {
		t.Errorf("its session counts: %d, were %d", n, before)
	}
	for _, u := range v.Users() {
		if u.Name == v.Console().Username() {
			t.Error("it is listed")
		}
	}
	if err := v.SetPasswordOf(v.Console().Username(), "x"); err == nil {
		t.Error("its password can be changed")
	}
	if err := m.Login(t.Context(), url.UserPassword(v.Console().Username(), "guess")); err == nil {
		t.Error("it takes any password")
	}
}

func TestSessionsByClient(t *testing.T) {
	lab := Start(t, "../../scenarios/single.yaml")
	v := lab.VCenters()[0]
	c := lab.Client(v.Name())
	if ok, err := c.SessionManager.SessionIsActive(t.Context()); err != nil || !ok {
		t.Fatalf("%v, %v", ok, err)
	}
	if s := v.Sessions(); len(s) != 1 || s[0].Client == "" {
		t.Fatalf("sessions %+v", s)
	}
	if n := v.EndSessionsWhere(func(s Session) bool { return s.Client == "somebody" }); n != 0 {
		t.Errorf("%d sessions ended", n)
	}
	if n := v.EndSessionsWhere(func(s Session) bool { return s.Client != "" }); n != 1 || len(v.Sessions()) != 0 {
		t.Errorf("%d sessions ended", n)
	}
	limit := v.SessionLimit()
	v.SetSessionLimit(1)
	lab.Client(v.Name())
	if v.SessionLimit() != 1 || limit == 1 {
		t.Errorf("limit %d, was %d", v.SessionLimit(), limit)
	}
}

func TestNewCertificate(t *testing.T) {
	lab := Start(t, "../../scenarios/single.yaml")
	v := lab.VCenters()[0]
	pool := x509.NewCertPool()
	pool.AppendCertsFromPEM(lab.CA())
	for name, tc := range map[string]struct {
		wish CertificateOptions
		ok   bool
	}{
		"like the first": {CertificateOptions{}, true}, "expired": {CertificateOptions{Expired: true}, false},
		"another name": {CertificateOptions{Name: "x.invalid"}, false}, "foreign": {CertificateOptions{Foreign: true}, false},
	} {
		c, err := v.NewCertificate(tc.wish)
		if err != nil {
			t.Fatal(err)
		}
		_, err = c.Leaf.Verify(x509.VerifyOptions{Roots: pool, DNSName: v.Host(), CurrentTime: time.Now()})
		if (err == nil) != tc.ok {
			t.Errorf("%s: %v", name, err)
		}
		if c.Leaf.Equal(v.FirstCertificate().Leaf) {
			t.Errorf("%s: it is the first", name)
		}
	}
}
