package cert

import (
	"crypto/tls"
	"crypto/x509"
	"net"
	"testing"
)

func TestSign(t *testing.T) {
	ca, err := NewCA("sandbox")
	if err != nil {
		t.Fatal(err)
	}
	other, err := NewCA("sandbox")
	if err != nil {
		t.Fatal(err)
	}
	server := Leaf{CommonName: "vcenter", DNSNames: []string{"vcenter.local"}, IPs: []net.IP{net.IPv4(127, 0, 0, 2)}}
	for _, tc := range []struct {
		name  string
		leaf  Leaf
		roots *x509.CertPool
		host  string
		usage x509.ExtKeyUsage
		ok    bool
	}{
		{"server by address", server, ca.Pool(), "127.0.0.2", x509.ExtKeyUsageServerAuth, true},
		{"server by name", server, ca.Pool(), "vcenter.local", x509.ExtKeyUsageServerAuth, true},
		{"server of another address", server, ca.Pool(), "127.0.0.3", x509.ExtKeyUsageServerAuth, false},
		{"same name, other authority", server, other.Pool(), "127.0.0.2", x509.ExtKeyUsageServerAuth, false},
		{"server is no client", server, ca.Pool(), "", x509.ExtKeyUsageClientAuth, false},
		{"client", Leaf{CommonName: "admin", Organizations: []string{"system:masters"}}, ca.Pool(), "", x509.ExtKeyUsageClientAuth, true},
		{"client is no server", Leaf{CommonName: "admin"}, ca.Pool(), "", x509.ExtKeyUsageServerAuth, false},
	} {
		t.Run(tc.name, func(t *testing.T) {
			p, err := ca.Sign(tc.leaf)
			if err != nil {
				t.Fatal(err)
			}
			if _, err := tls.X509KeyPair(p.Cert, p.Key); err != nil {
				t.Errorf("the PEM pair does not load: %v", err)
			}
			_, err = p.TLS().Leaf.Verify(x509.VerifyOptions{Roots: tc.roots, DNSName: tc.host, KeyUsages: []x509.ExtKeyUsage{tc.usage}})
			if (err == nil) != tc.ok {
				t.Errorf("verify: %v, want ok=%v", err, tc.ok)
			}
		})
	}
}

func TestReadCA(t *testing.T) {
	ca, err := NewCA("mine")
	if err != nil {
		t.Fatal(err)
	}
	again, err := ReadCA(ca.Cert, ca.Key)
	if err != nil {
		t.Fatal(err)
	}
	leaf, err := again.Sign(Leaf{CommonName: "server", DNSNames: []string{"localhost"}})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := leaf.x509.Verify(x509.VerifyOptions{Roots: ca.Pool(), DNSName: "localhost"}); err != nil {
		t.Error(err)
	}
	if _, err := ReadCA(leaf.Cert, leaf.Key); err == nil {
		t.Error("a server's certificate is no authority")
	}
	if _, err := ReadCA(ca.Cert, leaf.Key); err == nil {
		t.Error("the key is another's")
	}
}
