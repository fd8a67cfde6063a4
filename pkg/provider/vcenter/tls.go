package vcenter

import (
	"cmp"
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"net"
	"net/url"
	"strings"

	"github.com/vmware/govmomi/vim25"
	"github.com/vmware/govmomi/vim25/soap"

	"github.com/vsphere-sandbox/vsphere-sandbox/internal/input"
)

// idleConnections is how many connections to a vCenter are kept for the next call. Go's default of two would have calls at
// once, volumes being attached say, make a TLS handshake each.
const idleConnections = 16

// dialFunc makes a connection.
type dialFunc func(ctx context.Context, network, address string) (net.Conn, error)

// newSOAPClient returns a client that trusts what cfg says and has made no call.
func newSOAPClient(cfg *Config) *soap.Client {
	sc := soap.NewClient(&url.URL{Scheme: "https", Host: cfg.address(), Path: vim25.Path}, cfg.Insecure)
	sc.Namespace, sc.Version = "urn:"+vim25.Namespace, vim25.Version
	sc.UserAgent = cfg.UserAgent
	t := sc.DefaultTransport()
	t.MaxIdleConnsPerHost = idleConnections
	t.TLSClientConfig = cfg.TLS(strings.Trim(cfg.Server, "[]")) // for connections through a proxy
	t.DialTLSContext = cfg.dialTLS(cfg.Dial)
	sc.Transport = patient{t}
	return sc
}

// dialTLS makes TLS connections over those of dial, the network's when nil. govmomi's own way knows no deadline: a
// server that accepts connections and does not speak TLS would cost one more goroutine at every attempt.
func (c *Config) dialTLS(dial dialFunc) dialFunc {
	if dial == nil {
		dial = new(net.Dialer).DialContext
	}
	return func(ctx context.Context, network, address string) (net.Conn, error) {
		ctx, cancel := context.WithTimeout(ctx, c.CallTimeout) // the transport's context outlives the call
		defer cancel()
		host, _, err := net.SplitHostPort(address)
		if err != nil {
			return nil, err
		}
		conn, err := dial(ctx, network, address)
		if err != nil {
			return nil, err
		}
		secure := tls.Client(conn, c.TLS(host))
		if err := secure.HandshakeContext(ctx); err != nil {
			return nil, errors.Join(err, conn.Close())
		}
		return secure, nil
	}
}

// TLS returns how to speak TLS with a host. Authorities are read at every handshake, so that a session outlives a change of
// the CA file and of the certificate.
func (c *Config) TLS(host string) *tls.Config {
	config := &tls.Config{ServerName: host, InsecureSkipVerify: true} // verify does it, with what is in the file now
	if !c.Insecure {
		config.VerifyConnection = func(s tls.ConnectionState) error { return c.verify(s, host) }
	}
	return config
}

// verify says whether the certificate that a server showed is to be trusted. What it returns wraps ErrCertificate.
func (c *Config) verify(s tls.ConnectionState, host string) error {
	roots, err := c.authorities()
	if err != nil {
		return fmt.Errorf("%w: %w", ErrCertificate, err)
	}
	leaf := s.PeerCertificates[0]
	between := x509.NewCertPool()
	for _, cert := range s.PeerCertificates[1:] {
		between.AddCert(cert)
	}
	_, err = leaf.Verify(x509.VerifyOptions{Roots: roots, Intermediates: between, DNSName: host})
	if err == nil {
		return nil
	}
	pinned := ""
	if c.Thumbprint != "" && soap.IsCertificateUntrusted(err) {
		if sameThumbprint(c.Thumbprint, soap.ThumbprintSHA256(leaf)) || sameThumbprint(c.Thumbprint, soap.ThumbprintSHA1(leaf)) {
			return nil
		}
		pinned = ", which is not the configured thumbprint"
	}
	issuer := cmp.Or(leaf.Issuer.CommonName, leaf.Issuer.String())
	return fmt.Errorf("%w: issued by %q, thumbprint %s%s: %w", ErrCertificate, issuer, soap.ThumbprintSHA256(leaf), pinned, err)
}

// sameThumbprint compares thumbprints whatever their case, with or without colons.
func sameThumbprint(a, b string) bool {
	return b != "" && strings.EqualFold(strings.ReplaceAll(a, ":", ""), strings.ReplaceAll(b, ":", ""))
}

// authorities returns the certificate authorities to trust, nil for the system's.
func (c *Config) authorities() (*x509.CertPool, error) {
	if c.CAFile == "" && len(c.CAData) == 0 {
		return nil, nil
	}
	pool := x509.NewCertPool()
	if len(c.CAData) > 0 && !pool.AppendCertsFromPEM(c.CAData) {
		return nil, errors.New("certificate authority: no certificate in the given PEM")
	}
	if c.CAFile != "" {
		pem, err := input.File(c.CAFile, input.MaxFile)
		if err != nil {
			return nil, fmt.Errorf("certificate authority: %w", err)
		}
		if !pool.AppendCertsFromPEM(pem) {
			return nil, fmt.Errorf("certificate authority: %s: no certificate in it", c.CAFile)
		}
	}
	return pool, nil
}
