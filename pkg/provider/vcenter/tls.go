package vcenter

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"net"
	"net/url"
	"os"
	"strings"

	"github.com/vmware/govmomi/vim25/soap"
)

// newSOAPClient returns a client that trusts what cfg says and has made no call.
func newSOAPClient(cfg *Config) (*soap.Client, error) {
	sc := soap.NewClient(&url.URL{Scheme: "https", Host: cfg.address(), Path: "/sdk"}, cfg.Insecure)
	sc.UserAgent = cfg.UserAgent
	pool, err := cfg.authorities()
	if err != nil {
		return nil, err
	}
	if pool != nil {
		sc.DefaultTransport().TLSClientConfig.RootCAs = pool
	}
	if cfg.Dial != nil {
		sc.DefaultTransport().DialTLSContext = cfg.dialTLS(sc.DefaultTransport().TLSClientConfig)
	}
	if cfg.Thumbprint != "" {
		sc.SetThumbprint(cfg.address(), cfg.Thumbprint)
	}
	return sc, nil
}

// dialTLS makes TLS connections over those of Dial. govmomi's own transport knows only the network's.
func (c *Config) dialTLS(config *tls.Config) func(ctx context.Context, network, address string) (net.Conn, error) {
	config = config.Clone()
	config.ServerName = strings.Trim(c.Server, "[]")
	return func(ctx context.Context, network, address string) (net.Conn, error) {
		conn, err := c.Dial(ctx, network, address)
		if err != nil {
			return nil, err
		}
		secure := tls.Client(conn, config)
		if err := secure.HandshakeContext(ctx); err != nil {
			return nil, errors.Join(err, conn.Close())
		}
		return secure, nil
	}
}

// authorities returns the certificate authorities to trust, nil for the system's.
func (c *Config) authorities() (*x509.CertPool, error) {
	if c.CAFile == "" && len(c.CAData) == 0 {
		return nil, nil
	}
	pool := x509.NewCertPool()
	if len(c.CAData) > 0 && !pool.AppendCertsFromPEM(c.CAData) {
		return nil, fmt.Errorf("certificate authority: no certificate in the given PEM")
	}
	if c.CAFile != "" {
		pem, err := os.ReadFile(c.CAFile)
		if err != nil {
			return nil, fmt.Errorf("certificate authority: %w", err)
		}
		if !pool.AppendCertsFromPEM(pem) {
			return nil, fmt.Errorf("certificate authority: %s: no certificate in it", c.CAFile)
		}
	}
	return pool, nil
}
