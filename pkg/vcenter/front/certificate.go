package front

import (
	"crypto/tls"
	"time"

	"github.com/vsphere-sandbox/vsphere-sandbox/internal/cert"
)

// Wish is a certificate that the front can be given. The zero value is one like its first.
type Wish struct {
	// Expired makes it one that was good until an hour ago.
	Expired bool
	// Name is the only name that it is for; empty: where the front is.
	Name string
	// Foreign has it signed by an authority that nobody knows.
	Foreign bool
}

// NewCertificate makes a certificate for the front, with a key of its own. It is not used until the gate is told.
func (f *Front) NewCertificate(w Wish) (tls.Certificate, error) {
	authority, leaf := f.opts.CA, f.leaf
	if w.Name != "" {
		leaf.CommonName, leaf.DNSNames, leaf.IPs = w.Name, []string{w.Name}, nil
	}
	if w.Expired {
		leaf.NotAfter = time.Now().Add(-time.Hour)
	}
	if w.Foreign {
		var err error
		if authority, err = cert.NewCA("somebody else's vCenters"); err != nil {
			return tls.Certificate{}, err
		}
	}
	pair, err := authority.Sign(leaf)
	if err != nil {
		return tls.Certificate{}, err
	}
	return pair.TLS(), nil
}

// FirstCertificate is the one that the front began with.
func (f *Front) FirstCertificate() tls.Certificate { return f.pair.TLS() }
