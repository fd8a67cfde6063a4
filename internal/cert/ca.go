package cert

import (
	"crypto"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"errors"
	"fmt"
	"math/big"
	"net"
	"time"
)

// lifetime of every certificate: a sandbox that lives longer can be booted again.
const lifetime = 365 * 24 * time.Hour

// CA signs certificates. Make one with [NewCA]; it may be used from any goroutine.
type CA struct {
	Pair
}

// Pair is a certificate with its private key, both PEM (the key in PKCS #8).
type Pair struct {
	Cert, Key []byte

	x509 *x509.Certificate
	key  crypto.Signer
}

// Leaf is what a certificate says of its holder.
type Leaf struct {
	CommonName    string
	Organizations []string
	// DNSNames and IPs make it a server certificate. Without either it is a client certificate.
	DNSNames []string
	IPs      []net.IP
	// NotAfter is when it expires; zero: in a year, less an hour.
	NotAfter time.Time
	// Both also gives a server certificate the client usage, as etcd's peers need.
	Both bool
}

// NewCA makes a new, self-signed authority of the given common name.
func NewCA(commonName string) (*CA, error) {
	t := &x509.Certificate{
		Subject:               pkix.Name{CommonName: commonName},
		KeyUsage:              x509.KeyUsageCertSign | x509.KeyUsageDigitalSignature | x509.KeyUsageCRLSign,
		BasicConstraintsValid: true,
		IsCA:                  true,
	}
	p, err := sign(t, nil)
	if err != nil {
		return nil, fmt.Errorf("certificate authority %q: %w", commonName, err)
	}
	return &CA{Pair: *p}, nil
}

// ReadCA returns the authority with a certificate and its key, as [NewCA] has them.
func ReadCA(certificate, key []byte) (*CA, error) {
	pair, err := tls.X509KeyPair(certificate, key)
	if err != nil {
		return nil, fmt.Errorf("certificate authority: %w", err)
	}
	signer, ok := pair.PrivateKey.(crypto.Signer)
	if !ok || !pair.Leaf.IsCA {
		return nil, errors.New("certificate authority: the certificate is none of an authority")
	}
	return &CA{Pair{Cert: certificate, Key: key, x509: pair.Leaf, key: signer}}, nil
}

// Sign makes a new key and a certificate for it.
func (ca *CA) Sign(l Leaf) (*Pair, error) {
	t := &x509.Certificate{
		Subject:     pkix.Name{CommonName: l.CommonName, Organization: l.Organizations},
		KeyUsage:    x509.KeyUsageDigitalSignature,
		DNSNames:    l.DNSNames,
		IPAddresses: l.IPs,
	}
	t.NotAfter = l.NotAfter
	server := len(l.DNSNames)+len(l.IPs) > 0
	if server {
		t.ExtKeyUsage = append(t.ExtKeyUsage, x509.ExtKeyUsageServerAuth)
	}
	if !server || l.Both {
		t.ExtKeyUsage = append(t.ExtKeyUsage, x509.ExtKeyUsageClientAuth)
	}
	p, err := sign(t, &ca.Pair)
	if err != nil {
		return nil, fmt.Errorf("certificate %q: %w", l.CommonName, err)
	}
	return p, nil
}

// Options is a server certificate in place of another one. The zero value is one like it.
type Options struct {
	// Expired makes it one that was good until an hour ago.
	Expired bool
	// Name is the only name that it is for; empty: those of the other one.
	Name string
	// Foreign signs it by an authority that no client trusts.
	Foreign bool
}

// Replace makes a new key and a certificate for it, in place of the one that says l.
func (ca *CA) Replace(l Leaf, w Options) (tls.Certificate, error) {
	if w.Name != "" {
		l.CommonName, l.DNSNames, l.IPs = w.Name, []string{w.Name}, nil
	}
	if w.Expired {
		l.NotAfter = time.Now().Add(-time.Hour)
	}
	if w.Foreign {
		var err error
		if ca, err = NewCA("unknown vCenters"); err != nil {
			return tls.Certificate{}, err
		}
	}
	pair, err := ca.Sign(l)
	if err != nil {
		return tls.Certificate{}, err
	}
	return pair.TLS(), nil
}

// Pool holds this authority alone.
func (ca *CA) Pool() *x509.CertPool {
	pool := x509.NewCertPool()
	pool.AddCert(ca.x509)
	return pool
}

// TLS returns the pair in the form that crypto/tls wants.
func (p *Pair) TLS() tls.Certificate {
	return tls.Certificate{Certificate: [][]byte{p.x509.Raw}, PrivateKey: p.key, Leaf: p.x509}
}

// sign completes t, makes a key for it and signs it with parent, or with itself when parent is nil.
func sign(t *x509.Certificate, parent *Pair) (*Pair, error) {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return nil, err
	}
	if t.SerialNumber, err = rand.Int(rand.Reader, new(big.Int).Lsh(big.NewInt(1), 120)); err != nil {
		return nil, err
	}
	// Backdated for the clock of a container or VM that runs a little behind.
	t.NotBefore = time.Now().Add(-time.Hour)
	if t.NotAfter.IsZero() {
		t.NotAfter = t.NotBefore.Add(lifetime)
	} else if !t.NotAfter.After(t.NotBefore) {
		t.NotBefore = t.NotAfter.Add(-lifetime)
	}

	issuer, signer := t, crypto.Signer(key)
	if parent != nil {
		issuer, signer = parent.x509, parent.key
	}
	der, err := x509.CreateCertificate(rand.Reader, t, issuer, key.Public(), signer)
	if err != nil {
		return nil, err
	}
	c, err := x509.ParseCertificate(der)
	if err != nil {
		return nil, err
	}
	pkcs8, err := x509.MarshalPKCS8PrivateKey(key)
	if err != nil {
		return nil, err
	}
	return &Pair{
		Cert: pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der}),
		Key:  pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: pkcs8}),
		x509: c,
		key:  key,
	}, nil
}
