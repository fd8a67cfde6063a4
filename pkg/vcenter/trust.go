package vcenter

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"net"
	"time"

	"github.com/vmware/govmomi/vim25/soap"
)

// UntrustedError says that the certificate a vCenter shows is not to be trusted, and what it is.
type UntrustedError struct {
	// VCenter is its name, Address its host and port.
	VCenter, Address string
	// Subject and Issuer are distinguished names, Fingerprint the certificate's SHA-256 in hexadecimal with colons.
	Subject, Issuer, Fingerprint string
	NotBefore, NotAfter          time.Time
	// Try says how to trust it.
	Try string
	// Err is why it is not trusted.
	Err error
}

// Error is all of it but the times, on one line.
func (e *UntrustedError) Error() string {
	return fmt.Sprintf("vcenter %q: certificate of %s is not trusted: subject %q, issuer %q, SHA-256 %s: %v: %s",
		e.VCenter, e.Address, e.Subject, e.Issuer, e.Fingerprint, cause(e.Err), e.Try)
}

// Unwrap gives the reason.
func (e *UntrustedError) Unwrap() error { return e.Err }

// cause is the error of package x509, which says it best, or all of it.
func cause(err error) error {
	var (
		unknown x509.UnknownAuthorityError
		invalid x509.CertificateInvalidError
		name    x509.HostnameError
	)
	switch {
	case errors.As(err, &unknown):
		return unknown
	case errors.As(err, &invalid):
		return invalid
	case errors.As(err, &name):
		return name
	}
	return err
}

// Presented returns the certificates that the vCenter shows, its own first, whether they are to be trusted or not.
func (v VCenter) Presented(ctx context.Context) ([]*x509.Certificate, error) {
	dialer := tls.Dialer{Config: &tls.Config{ServerName: v.Server, InsecureSkipVerify: true}} // nothing is sent on it
	conn, err := dialer.DialContext(ctx, "tcp", v.Address())
	if err != nil {
		return nil, fmt.Errorf("vcenter %q: %w", v.Name, err)
	}
	defer conn.Close() // nothing was sent, so nothing can be lost
	return conn.(*tls.Conn).ConnectionState().PeerCertificates, nil
}

// untrusted makes the error for why; plain why where the vCenter does not show its certificate again.
func (v VCenter) untrusted(ctx context.Context, why error) error {
	ctx, cancel := context.WithTimeout(ctx, 10*time.Second) // it has just answered
	defer cancel()
	chain, err := v.Presented(ctx)
	if err != nil || len(chain) == 0 {
		return fmt.Errorf("vcenter %q: %w", v.Name, why)
	}
	leaf := chain[0]
	e := &UntrustedError{
		VCenter: v.Name, Address: v.Address(), Subject: leaf.Subject.String(), Issuer: leaf.Issuer.String(),
		Fingerprint: soap.ThumbprintSHA256(leaf), NotBefore: leaf.NotBefore, NotAfter: leaf.NotAfter, Err: why,
	}
	e.Try = v.howToTrust(e.Fingerprint, why)
	return e
}

// howToTrust is what a person is to do.
func (v VCenter) howToTrust(fingerprint string, why error) string {
	var invalid x509.CertificateInvalidError
	if errors.As(why, &invalid) && invalid.Reason == x509.Expired {
		return "renew it on the vCenter, or correct this machine's clock"
	}
	file, pin := "caFile:", fmt.Sprintf("thumbprint: %q", fingerprint)
	if v.govc {
		file = "GOVC_TLS_CA_CERTS"
		pin = fmt.Sprintf("a line %q in the file GOVC_TLS_KNOWN_HOSTS", v.Address()+" "+fingerprint)
	}
	if _, ok := errors.AsType[x509.HostnameError](why); ok { // an authority would not help
		return fmt.Sprintf("call it by a name that is in the certificate, or, if the vCenter's console shows the same fingerprint, write %s", pin)
	}
	return fmt.Sprintf("set %s to the authority's certificate (https://%s/certs/download.zip), or, if the vCenter's console shows the same fingerprint, write %s",
		file, net.JoinHostPort(v.Server, fmt.Sprint(v.Port)), pin)
}
