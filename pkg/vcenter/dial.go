package vcenter

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"net"
	"strings"
	"time"

	"github.com/vmware/govmomi/vim25/soap"

	"github.com/vsphere-sandbox/vsphere-sandbox/internal/input"
	client "github.com/vsphere-sandbox/vsphere-sandbox/pkg/provider/vcenter"
)

// handshake bounds the making of one connection.
const handshake = 30 * time.Second

// DialTLS makes a connection to the vCenter and verifies its certificate as [VCenter.Connect] does: by the authorities, or
// by the thumbprint where there is no other reason to trust it. An error for lack of trust wraps
// [client.ErrCertificate].
func (v VCenter) DialTLS(ctx context.Context) (net.Conn, error) {
	ctx, cancel := context.WithTimeout(ctx, handshake)
	defer cancel()
	conn, err := new(net.Dialer).DialContext(ctx, "tcp", v.Address())
	if err != nil {
		return nil, fmt.Errorf("vcenter %q: %w", v.Name, err)
	}
	// Authorities are read at every handshake, so that a renewed CA file needs no restart; verify does what is skipped here.
	config := &tls.Config{ServerName: v.Server, InsecureSkipVerify: true, NextProtos: []string{"http/1.1"}}
	if !v.Insecure {
		config.VerifyConnection = v.verify
	}
	secure := tls.Client(conn, config)
	if err := secure.HandshakeContext(ctx); err != nil {
		return nil, errors.Join(fmt.Errorf("vcenter %q: %w", v.Name, err), conn.Close())
	}
	return secure, nil
}

// verify says whether the certificate shown is to be trusted.
func (v VCenter) verify(s tls.ConnectionState) error {
	roots, err := v.authorities()
	if err != nil {
		return fmt.Errorf("%w: %w", client.ErrCertificate, err)
	}
	leaf, between := s.PeerCertificates[0], x509.NewCertPool()
	for _, cert := range s.PeerCertificates[1:] {
		between.AddCert(cert)
	}
	_, err = leaf.Verify(x509.VerifyOptions{Roots: roots, Intermediates: between, DNSName: v.Server})
	if err == nil || soap.IsCertificateUntrusted(err) && v.pinned(leaf) {
		return nil
	}
	return fmt.Errorf("%w: thumbprint %s: %w", client.ErrCertificate, soap.ThumbprintSHA256(leaf), err)
}

// pinned tells whether the certificate is the one of the thumbprint, which may be written with or without colons.
func (v VCenter) pinned(leaf *x509.Certificate) bool {
	bare := func(s string) string { return strings.ToLower(strings.ReplaceAll(s, ":", "")) }
	want := bare(v.Thumbprint)
	return want != "" && (want == bare(soap.ThumbprintSHA256(leaf)) || want == bare(soap.ThumbprintSHA1(leaf)))
}

// authorities are those to trust; nil for the system's.
func (v VCenter) authorities() (*x509.CertPool, error) {
	if v.CAFile == "" && len(v.Authorities) == 0 {
		return nil, nil
	}
	pool := x509.NewCertPool()
	if len(v.Authorities) > 0 && !pool.AppendCertsFromPEM(v.Authorities) {
		return nil, errors.New("certificate authority: no certificate in what was given")
	}
	if v.CAFile != "" {
		pem, err := input.File(v.CAFile, input.MaxFile)
		if err != nil {
			return nil, fmt.Errorf("certificate authority: %w", err)
		}
		if !pool.AppendCertsFromPEM(pem) {
			return nil, fmt.Errorf("certificate authority: %s: no certificate in it", v.CAFile)
		}
	}
	return pool, nil
}
