package gate

import (
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"sync"
)

// certificate is what new handshakes are given.
type certificate struct {
	mu    sync.Mutex
	first []tls.Certificate
	now   *tls.Certificate // nil until swapped
}

// use makes config ask the gate for its certificate.
func (c *certificate) use(config *tls.Config) *tls.Config {
	c.mu.Lock()
	defer c.mu.Unlock()
	config.NextProtos = []string{"http/1.1"}
	before := config.GetCertificate
	c.first, config.Certificates = config.Certificates, nil
	config.GetCertificate = func(hello *tls.ClientHelloInfo) (*tls.Certificate, error) {
		c.mu.Lock()
		defer c.mu.Unlock()
		switch {
		case c.now != nil:
			return c.now, nil
		case before != nil:
			if found, err := before(hello); found != nil || err != nil {
				return found, err
			}
		}
		for i := range c.first {
			if hello.SupportsCertificate(&c.first[i]) == nil {
				return &c.first[i], nil
			}
		}
		if len(c.first) == 0 {
			return nil, errors.New("no certificate")
		}
		return &c.first[0], nil
	}
	return config
}

// SetCertificate swaps the certificate. Every handshake from now on gets the new one, none is resumed from before.
// Connections that are open stay; [Gate.CutConnections] makes their clients come again. A certificate without a key, or
// one that cannot be parsed, is refused.
func (g *Gate) SetCertificate(to tls.Certificate) error {
	if len(to.Certificate) == 0 || to.PrivateKey == nil {
		return fmt.Errorf("gate %s: a certificate needs a chain and a private key", g.addr)
	}
	if to.Leaf == nil {
		leaf, err := x509.ParseCertificate(to.Certificate[0])
		if err != nil {
			return fmt.Errorf("gate %s: certificate: %w", g.addr, err)
		}
		to.Leaf = leaf
	}
	c := &g.certificate
	c.mu.Lock()
	defer c.mu.Unlock()
	c.now = &to
	// A session that is resumed shows no certificate.
	var key [32]byte
	_, _ = rand.Read(key[:]) // never fails
	g.opts.TLS.SetSessionTicketKeys([][32]byte{key})
	return nil
}
