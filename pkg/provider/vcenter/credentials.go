package vcenter

import (
	"context"
	"crypto/rsa"
	"crypto/tls"
	"crypto/x509"
	"encoding/pem"
	"errors"
	"fmt"
	"net/url"
	"strings"

	"github.com/vmware/govmomi/sts"
	"github.com/vmware/govmomi/vim25"
	"github.com/vmware/govmomi/vim25/soap"
)

// Credentials are what a vCenter is asked to accept. They are compared as a whole: what differs is something new to try.
type Credentials struct {
	// User and Password are those of an account. Where User is a certificate and Password its RSA key, both PEM, they
	// stand for a token that is bound to the key (SAML holder-of-key), asked for at the vCenter's token service.
	User, Password string
	// SessionManagerURL, where it is set, is asked for a session to share in place of a login, with SessionManagerToken
	// as bearer token or, when that is empty, the token of the pod's ServiceAccount.
	SessionManagerURL, SessionManagerToken string
}

// CredentialsFunc returns the credentials to log in with. It is called anew at every attempt, so it may follow a file
// or a Secret; an error from it counts as [ErrNoCredentials], and so do credentials that are empty.
type CredentialsFunc func(ctx context.Context) (Credentials, error)

// shared says that the session comes from a session manager.
func (c Credentials) shared() bool { return c.SessionManagerURL != "" }

// complete says that there is something to log in with. An empty login is never tried: it would only leave a
// BadUsernameSessionEvent behind (kubernetes/cloud-provider-vsphere#774).
func (c Credentials) complete() bool { return c.shared() || c.User != "" && c.Password != "" }

// certificate returns the certificate that User holds, nil when it is a name.
func (c Credentials) certificate() []byte {
	if block, _ := pem.Decode([]byte(c.User)); block != nil {
		return block.Bytes
	}
	return nil
}

// String names whose credentials they are, without anything that is secret.
func (c Credentials) String() string {
	if c.shared() {
		u, err := url.Parse(c.SessionManagerURL)
		if err != nil {
			return "session manager with an invalid address"
		}
		return "session manager " + (&url.URL{Scheme: u.Scheme, Host: u.Host, Path: u.Path}).String()
	}
	if der := c.certificate(); der != nil {
		if cert, err := x509.ParseCertificate(der); err == nil {
			return fmt.Sprintf("certificate %q", cert.Subject.CommonName)
		}
		return "certificate"
	}
	return fmt.Sprintf("user %q", c.User)
}

// GoString is String: %#v is no way to a secret either.
func (c Credentials) GoString() string { return c.String() }

// issue asks the vCenter's token service for a token that is bound to the key of a certificate. The credentials hold
// the certificate as user and the key as password, as upstream's configuration has it.
func issue(ctx context.Context, cfg *Config, vim *vim25.Client, creds Credentials) (*sts.Signer, error) {
	cert, err := tls.X509KeyPair([]byte(creds.User), []byte(creds.Password))
	if err != nil {
		return nil, fmt.Errorf("%s: %w", creds, err)
	}
	if _, ok := cert.PrivateKey.(*rsa.PrivateKey); !ok {
		return nil, fmt.Errorf("%s: the token service takes RSA keys only, not %T", creds, cert.PrivateKey)
	}
	tokens, err := sts.NewClient(ctx, vim)
	if err != nil {
		return nil, fmt.Errorf("token service: %w", err)
	}
	tokens.RoundTripper = cfg.observe(tokens.Client)
	signer, err := tokens.Issue(ctx, sts.TokenRequest{Certificate: &cert, Delegatable: true})
	if refusedToken(err) {
		return nil, fmt.Errorf("token service: %s: %w: %w", creds, ErrInvalidLogin, err)
	}
	if err != nil {
		return nil, fmt.Errorf("token service: %w", err)
	}
	return signer, nil
}

// refusedToken reports whether the token service knows no such certificate, in the words of WS-Trust and WS-Security.
func refusedToken(err error) bool {
	for ; err != nil; err = errors.Unwrap(err) {
		if soap.IsSoapFault(err) {
			code := soap.ToSoapFault(err).Code
			return strings.HasSuffix(code, "FailedAuthentication") || strings.HasSuffix(code, "InvalidSecurityToken")
		}
	}
	return false
}
