package gate_test

import (
	"crypto/tls"
	"net"
	"testing"

	"github.com/vsphere-sandbox/vsphere-sandbox/internal/cert"
)

func TestSetCertificate(t *testing.T) {
	f := open(t, nil)
	f.client.Transport.(interface{ CloseIdleConnections() }).CloseIdleConnections()
	serial := func() string {
		t.Helper()
		res, err := f.client.Get("https://" + f.Addr() + "/silent")
		if err != nil {
			t.Fatal(err)
		}
		res.Body.Close()
		return res.TLS.PeerCertificates[0].Subject.CommonName
	}
	if name := serial(); name != "vc" {
		t.Errorf("at first %q", name)
	}
	pair, err := f.ca.Sign(cert.Leaf{CommonName: "renewed", IPs: []net.IP{net.IPv4(127, 0, 0, 1)}})
	if err != nil {
		t.Fatal(err)
	}
	if err := f.SetCertificate(pair.TLS()); err != nil {
		t.Fatal(err)
	}
	if name := serial(); name != "vc" {
		t.Errorf("a connection that is open shows %q", name)
	}
	if n := f.CutConnections(); n != 1 {
		t.Errorf("%d connections were cut", n)
	}
	soon(t, "the connection is gone", func() bool { return f.Counters().Connections == 0 })
	if name := serial(); name != "renewed" {
		t.Errorf("a new connection shows %q", name)
	}
}

// A client that would resume its TLS session sees the new certificate.
func TestSetCertificateEndsResumption(t *testing.T) {
	f := open(t, nil)
	config := &tls.Config{RootCAs: f.ca.Pool(), ClientSessionCache: tls.NewLRUClientSessionCache(1)}
	handshake := func() tls.ConnectionState {
		t.Helper()
		c, err := tls.Dial("tcp", f.Addr(), config)
		if err != nil {
			t.Fatal(err)
		}
		defer c.Close()
		if _, err := c.Write([]byte("GET /silent HTTP/1.1\r\nHost: x\r\n\r\n")); err != nil {
			t.Fatal(err)
		}
		if _, err := c.Read(make([]byte, 100)); err != nil { // the ticket comes with the first bytes
			t.Fatal(err)
		}
		return c.ConnectionState()
	}
	handshake()
	if !handshake().DidResume {
		t.Error("sessions are not resumed at all")
	}
	pair, err := f.ca.Sign(cert.Leaf{CommonName: "renewed", IPs: []net.IP{net.IPv4(127, 0, 0, 1)}})
	if err != nil {
		t.Fatal(err)
	}
	if err := f.SetCertificate(pair.TLS()); err != nil {
		t.Fatal(err)
	}
	if s := handshake(); s.DidResume || s.PeerCertificates[0].Subject.CommonName != "renewed" {
		t.Errorf("resumed: %t, %q", s.DidResume, s.PeerCertificates[0].Subject.CommonName)
	}
}

func TestSetCertificateRefusesNonsense(t *testing.T) {
	f := open(t, nil)
	pair, err := f.ca.Sign(cert.Leaf{CommonName: "x", IPs: []net.IP{net.IPv4(127, 0, 0, 1)}})
	if err != nil {
		t.Fatal(err)
	}
	good := pair.TLS()
	for name, c := range map[string]tls.Certificate{
		"empty":   {},
		"no key":  {Certificate: good.Certificate},
		"garbage": {Certificate: [][]byte{{1, 2, 3}}, PrivateKey: good.PrivateKey},
	} {
		if err := f.SetCertificate(c); err == nil {
			t.Errorf("%s was accepted", name)
		}
	}
}
