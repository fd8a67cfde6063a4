package vcenter

import (
	"cmp"
	"context"
	"crypto/rsa"
	"crypto/tls"
	"crypto/x509"
	"encoding/pem"
	"errors"
	"fmt"
	"net"
	"net/url"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/vmware/govmomi/sts"
	"github.com/vmware/govmomi/vim25"
	"github.com/vmware/govmomi/vim25/soap"

	"github.com/vsphere-sandbox/vsphere-sandbox/internal/input"
)

// Credentials are the credentials for a vCenter. They are compared as a whole to detect changes.
type Credentials struct {
	// User and Password are those of an account. If User is a certificate and Password its RSA key, both in PEM, the client
	// requests a token that is bound to the key (SAML holder-of-key) from the vCenter's token service.
	User, Password string
	// SessionManagerURL, if set, is queried for a session to share instead of a login, with SessionManagerToken as bearer
	// token, or if that is empty with the token of the pod's ServiceAccount.
	SessionManagerURL, SessionManagerToken string
}

// CredentialsFunc returns the credentials to log in with. It is called at every attempt, so that it may follow a file or a
// Secret. Its error, or empty credentials, count as [ErrNoCredentials].
type CredentialsFunc func(ctx context.Context) (Credentials, error)

// shared reports whether the session comes from a session manager.
func (c Credentials) shared() bool { return c.SessionManagerURL != "" }

// complete reports whether the credentials can be tried. An empty login would only cause a BadUsernameSessionEvent
// (kubernetes/cloud-provider-vsphere#774).
func (c Credentials) complete() bool { return c.shared() || c.User != "" && c.Password != "" }

// certificate returns the certificate in User; nil if User is a name.
func (c Credentials) certificate() []byte {
	if block, _ := pem.Decode([]byte(c.User)); block != nil {
		return block.Bytes
	}
	return nil
}

// String identifies the credentials without any secret.
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
	return "user " + quoted(c.User)
}

// quoted returns a name in quotes, with its control characters named beside them: "lab.local" + U+000D + "ancher". An escape, as
// %q writes it, would look like a part of a name of the form DOMAIN\user.
func quoted(name string) string {
	if !strings.ContainsFunc(name, unicode.IsControl) {
		return `"` + name + `"`
	}
	var parts []string
	for name != "" {
		i := strings.IndexFunc(name, unicode.IsControl)
		switch {
		case i < 0:
			parts, name = append(parts, `"`+name+`"`), ""
		case i > 0:
			parts, name = append(parts, `"`+name[:i]+`"`), name[i:]
		default:
			r, size := utf8.DecodeRuneInString(name)
			parts, name = append(parts, fmt.Sprintf("%U", r)), name[size:]
		}
	}
	return strings.Join(parts, " + ")
}

// GoString is String, so that %#v does not print a secret.
func (c Credentials) GoString() string { return c.String() }

// issue requests a token that is bound to a certificate's key from the vCenter's token service. As in upstream's
// configuration, the credentials hold the certificate as user and the key as password.
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

// refusedToken reports whether the token service refused the certificate, by the codes of WS-Trust and WS-Security.
func refusedToken(err error) bool {
	for ; err != nil; err = errors.Unwrap(err) {
		if soap.IsSoapFault(err) {
			code := soap.ToSoapFault(err).Code
			return strings.HasSuffix(code, "FailedAuthentication") || strings.HasSuffix(code, "InvalidSecurityToken")
		}
	}
	return false
}

// idleConnections is the number of idle connections kept per vCenter. With Go's default of two, concurrent calls, such as
// volume attachments, would each make a TLS handshake.
const idleConnections = 16

type dialFunc func(ctx context.Context, network, address string) (net.Conn, error)

func newSOAPClient(cfg *Config) *soap.Client {
	sc := soap.NewClient(&url.URL{Scheme: "https", Host: cfg.address(), Path: vim25.Path}, cfg.Insecure)
	sc.Namespace, sc.Version = "urn:"+vim25.Namespace, vim25.Version
	sc.UserAgent = cfg.UserAgent
	t := sc.DefaultTransport()
	t.MaxIdleConnsPerHost = idleConnections
	t.TLSClientConfig = cfg.TLS(strings.Trim(cfg.Server, "[]")) // for connections through a proxy
	t.DialTLSContext = cfg.dialTLS(cfg.Dial)
	sc.Transport = retryTransport{t}
	return sc
}

// dialTLS opens TLS connections over those of dial, or of net.Dialer when nil. govmomi's own dialer has no deadline: with a
// server that accepts connections but does not speak TLS, each attempt would leak a goroutine.
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

// TLS returns the TLS configuration for a host. Authorities are read at every handshake, so that a session survives changes
// of the CA file and of the certificate.
func (c *Config) TLS(host string) *tls.Config {
	config := &tls.Config{ServerName: host, InsecureSkipVerify: true} // verify replaces it, with the file's current content
	if !c.Insecure {
		config.VerifyConnection = func(s tls.ConnectionState) error { return c.verify(s, host) }
	}
	return config
}

// verify checks the certificate of a server. Its error wraps ErrCertificate.
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

// sameThumbprint compares thumbprints, ignoring case and colons.
func sameThumbprint(a, b string) bool {
	return b != "" && strings.EqualFold(strings.ReplaceAll(a, ":", ""), strings.ReplaceAll(b, ":", ""))
}

// authorities returns the certificate authorities to trust; nil for the system's.
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
