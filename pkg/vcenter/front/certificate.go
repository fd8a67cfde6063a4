package front

import (
	"crypto/tls"

	"github.com/vsphere-sandbox/vsphere-sandbox/internal/cert"
)

// NewCertificate makes a certificate for the front, with a key of its own. It is not used until the gate is told.
func (f *Front) NewCertificate(w cert.Wish) (tls.Certificate, error) {
	return f.opts.CA.Replace(f.leaf, w)
}

// FirstCertificate is the one that the front began with.
func (f *Front) FirstCertificate() tls.Certificate { return f.pair.TLS() }
