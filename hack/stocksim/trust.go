package main

import (
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"fmt"
	"net"
	"os"

	"github.com/vsphere-sandbox/vsphere-sandbox/internal/cert"
)

// trust is an authority for one certificate.
type trust struct {
	certificate tls.Certificate
	pool        *x509.CertPool
	file        string
	temporary   bool
}

// newTrust makes one for the host of an address, and writes the authority's certificate to the file, or to one of its own.
func newTrust(address, file string) (*trust, error) {
	host, _, err := net.SplitHostPort(address)
	if err != nil {
		return nil, fmt.Errorf("-address: %w", err)
	}
	ca, err := cert.NewCA("stocksim authority")
	if err != nil {
		return nil, err
	}
	leaf := cert.Leaf{CommonName: host, DNSNames: []string{host}}
	if ip := net.ParseIP(host); ip != nil {
		leaf.DNSNames, leaf.IPs = nil, []net.IP{ip}
	}
	pair, err := ca.Sign(leaf)
	if err != nil {
		return nil, err
	}
	t := &trust{certificate: pair.TLS(), pool: ca.Pool(), file: file}
	if file != "" {
		return t, os.WriteFile(file, ca.Cert, 0o644)
	}
	f, err := os.CreateTemp("", "stocksim-ca-*.pem")
	if err != nil {
		return nil, err
	}
	t.file, t.temporary = f.Name(), true
	if _, err = f.Write(ca.Cert); err == nil {
		err = f.Close()
	}
	return t, err
}

// remove takes a temporary file away.
func (t *trust) remove() {
	if t.temporary {
		_ = os.Remove(t.file) // it may be gone already
	}
}

// password is one that nobody guesses.
func password() string { return rand.Text() }
