package vcenter

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"net"
	"net/url"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"github.com/vmware/govmomi/vim25/soap"

	"github.com/vsphere-sandbox/vsphere-sandbox/internal/input"
)

// UntrustedError means that a vCenter's certificate is not trusted, and describes it.
type UntrustedError struct {
	// VCenter is its name, Address its host and port.
	VCenter, Address string
	// Subject and Issuer are distinguished names, Fingerprint the certificate's SHA-256 in hexadecimal with colons.
	Subject, Issuer, Fingerprint string
	NotBefore, NotAfter          time.Time
	// Try suggests how to trust it.
	Try string
	// Err is the reason.
	Err error
}

// Error returns everything except the times, on one line.
func (e *UntrustedError) Error() string {
	return fmt.Sprintf("vcenter %q: certificate of %s is not trusted: subject %q, issuer %q, SHA-256 %s: %v: %s",
		e.VCenter, e.Address, e.Subject, e.Issuer, e.Fingerprint, cause(e.Err), e.Try)
}

// Unwrap returns the reason.
func (e *UntrustedError) Unwrap() error { return e.Err }

// cause returns the error of package x509, the most specific one, or all of it.
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

// Presented returns the certificates of the vCenter, trusted or not, its own first.
func (v VCenter) Presented(ctx context.Context) ([]*x509.Certificate, error) {
	dialer := tls.Dialer{Config: &tls.Config{ServerName: v.Server, InsecureSkipVerify: true}} // nothing is sent on it
	conn, err := dialer.DialContext(ctx, "tcp", v.Address())
	if err != nil {
		return nil, fmt.Errorf("vcenter %q: %w", v.Name, err)
	}
	defer conn.Close() // nothing was sent, so nothing can be lost
	return conn.(*tls.Conn).ConnectionState().PeerCertificates, nil
}

// untrusted returns the error for why; just why if the certificate cannot be read again.
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

// howToTrust suggests what a user can do.
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

// setKnownHosts looks the server up in govc's lists of known hosts, one "HOST[:PORT] THUMBPRINT" a line. As in govc the last
// matching line counts, and a missing file is ignored.
func (v *VCenter) setKnownHosts(list string) error {
	for _, file := range filepath.SplitList(list) {
		data, err := input.File(file, input.MaxFile)
		if errors.Is(err, fs.ErrNotExist) {
			continue
		}
		if err != nil {
			return fmt.Errorf("environment: GOVC_TLS_KNOWN_HOSTS: %w", err)
		}
		number := 0
		for line := range strings.Lines(string(data)) {
			number++
			words := strings.Fields(line)
			if len(words) == 0 || strings.HasPrefix(words[0], "#") {
				continue
			}
			if len(words) != 2 || !isThumbprint(words[1]) {
				return fmt.Errorf("%s:%d: must be HOST:PORT and the SHA-1 or SHA-256 fingerprint of a certificate", file, number)
			}
			if v.is(words[0]) {
				v.Thumbprint = words[1]
			}
		}
	}
	return nil
}

// is reports whether an address, whose port may be omitted, is the vCenter's.
func (v *VCenter) is(address string) bool {
	host, port, err := net.SplitHostPort(address)
	if err != nil {
		host, port = strings.Trim(address, "[]"), "443"
	}
	return strings.EqualFold(net.JoinHostPort(host, port), v.Address())
}

// isThumbprint reports whether the text is 20 or 32 bytes in hexadecimal, with colons or without.
func isThumbprint(text string) bool {
	b, err := hex.DecodeString(strings.ReplaceAll(text, ":", ""))
	return err == nil && (len(b) == 20 || len(b) == 32)
}

// FromEnvironment reads the vCenter of govc from GOVC_URL, GOVC_USERNAME, GOVC_PASSWORD, GOVC_INSECURE, GOVC_TLS_CA_CERTS,
// GOVC_TLS_KNOWN_HOSTS and GOVC_DATACENTER. environ has the form of os.Environ. It returns all problems, by variable.
func FromEnvironment(environ []string) (*Config, error) {
	vars := map[string]string{}
	for _, pair := range environ {
		if name, value, ok := strings.Cut(pair, "="); ok {
			vars[name] = value
		}
	}
	v := VCenter{Port: 443, govc: true}
	errs := []error{v.setURL(vars["GOVC_URL"])}
	if user := vars["GOVC_USERNAME"]; user != "" {
		v.User = user
	}
	if password := vars["GOVC_PASSWORD"]; password != "" {
		v.password = password
	}
	if v.User == "" {
		errs = append(errs, errors.New("environment: GOVC_USERNAME: is not set"))
	}
	if v.password == "" {
		errs = append(errs, errors.New("environment: GOVC_PASSWORD: is not set"))
	}
	if text := vars["GOVC_INSECURE"]; text != "" {
		insecure, err := strconv.ParseBool(text)
		if err != nil {
			errs = append(errs, fmt.Errorf("environment: GOVC_INSECURE: must be true or false, not %q", text))
		}
		v.Insecure = insecure
	}
	if dc := vars["GOVC_DATACENTER"]; dc != "" {
		v.Datacenters = []string{dc}
	}
	errs = append(errs, v.setAuthorities(vars["GOVC_TLS_CA_CERTS"]), v.setKnownHosts(vars["GOVC_TLS_KNOWN_HOSTS"]))
	if err := errors.Join(errs...); err != nil {
		return nil, err
	}
	return &Config{VCenters: []VCenter{v}, Region: DefaultRegion, Zone: DefaultZone}, nil
}

// setURL accepts what govc accepts: a host, with or without scheme, port, user and path. Errors omit the text, which may contain
// a password.
func (v *VCenter) setURL(text string) error {
	if text == "" {
		return errors.New("environment: GOVC_URL: is not set")
	}
	if !strings.Contains(text, "://") {
		text = "https://" + text
	}
	u, err := url.Parse(text)
	switch {
	case err != nil:
		return errors.New("environment: GOVC_URL: is no URL: write it as https://HOST, with characters of a password escaped or in GOVC_PASSWORD")
	case u.Scheme != "https":
		return fmt.Errorf("environment: GOVC_URL: scheme is %s: a vCenter is spoken to by https", u.Scheme)
	case u.Hostname() == "":
		return errors.New("environment: GOVC_URL: names no host")
	case u.Path != "" && u.Path != "/" && u.Path != "/sdk", u.RawQuery != "", u.Fragment != "":
		// The text may be the end of a password with a slash, ? or # in it.
		return errors.New("environment: GOVC_URL: path is not /sdk, or something is behind it: write it as https://HOST/sdk, with characters of a password escaped or in GOVC_PASSWORD")
	}
	v.Name, v.Server, v.User = u.Hostname(), u.Hostname(), u.User.Username()
	v.password, _ = u.User.Password()
	if port := u.Port(); port != "" {
		if v.Port, err = strconv.Atoi(port); err != nil || v.Port < 1 || v.Port > 65535 {
			return errors.New("environment: GOVC_URL: port is not from 1 to 65535")
		}
	}
	return nil
}

// setAuthorities reads the files of a list.
func (v *VCenter) setAuthorities(list string) error {
	for _, file := range filepath.SplitList(list) {
		data, err := input.File(file, input.MaxFile)
		if err != nil {
			return fmt.Errorf("environment: GOVC_TLS_CA_CERTS: %w", err)
		}
		v.Authorities = append(append(v.Authorities, data...), '\n')
	}
	return nil
}
