package sim

import (
	"crypto/tls"
	"fmt"
	"net/url"

	"github.com/vsphere-sandbox/vsphere-sandbox/internal/cert"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/sim/access"
)

// Settings that affect clients of a vCenter outside of its gate.

// Console returns the credentials of the operator's account, for connections of [VCenter.DialConsole]. Changed passwords and
// permissions of other accounts do not affect it, its sessions do not count, and [VCenter.Users] does not list it.
func (v *VCenter) Console() *url.Userinfo { return v.service.access.Console() }

// EndSessionsWhere ends the matching sessions, and returns their number. Waiting calls end with NotAuthenticated; clients may log
// in again.
func (v *VCenter) EndSessionsWhere(match func(Session) bool) int {
	return v.service.access.EndWhere(match)
}

// SessionLimit returns the maximum number of SOAP and REST sessions; 0: unlimited.
func (v *VCenter) SessionLimit() int { return v.service.access.Limit() }

// SetSessionLimit changes that limit. Open sessions stay open; new ones are refused while the limit is reached.
func (v *VCenter) SetSessionLimit(n int) { v.service.access.SetLimit(n) }

// UpdateLimit returns the maximum number of objects in an answer of WaitForUpdatesEx; 0 for a vCenter with vcsim's property
// collector, which has no limit.
func (v *VCenter) UpdateLimit() int {
	if v.collectors == nil {
		return 0
	}
	return v.collectors.Limit()
}

// SetUpdateLimit changes that limit; 0 means vCenter's default. It has no effect on vcsim's property collector.
func (v *VCenter) SetUpdateLimit(n int) {
	if v.collectors != nil {
		v.collectors.SetLimit(n)
	}
}

// CertificateWish describes a certificate for a vCenter. The zero value is one like its first.
type CertificateWish = cert.Wish

// NewCertificate issues a certificate for the vCenter, with a new key, signed like its first one. It is in use once the gate gets
// it.
func (v *VCenter) NewCertificate(w CertificateWish) (tls.Certificate, error) {
	return v.authority.Replace(v.leaf, w)
}

// FirstCertificate returns the vCenter's first certificate.
func (v *VCenter) FirstCertificate() tls.Certificate { return v.pair.TLS() }

// User is an account of a vCenter.
type User = access.User

// Session is an open session of a vCenter.
type Session = access.Session

// User returns the name of the administrator.
func (v *VCenter) User() string { return v.service.access.Administrator().Name }

// Password returns the administrator's current password.
func (v *VCenter) Password() string { return v.service.access.Administrator().Password }

// Users returns the accounts, the administrator's first.
func (v *VCenter) Users() []User { return v.service.access.Users() }

// Secrets returns what grants access to the vCenter: the passwords of all accounts, and the cookies of open sessions. They must
// not appear in a log, event or argument.
func (v *VCenter) Secrets() []string { return v.service.access.Secrets() }

// SetPassword changes the administrator's password for new logins. Open sessions stay open, as in a vCenter.
func (v *VCenter) SetPassword(password string) error {
	return v.SetPasswordOf(v.User(), password)
}

// SetPasswordOf changes a user's password. It returns access.ErrNoUser or access.ErrNoPassword.
func (v *VCenter) SetPasswordOf(user, password string) error {
	if err := v.service.access.SetPassword(user, password); err != nil {
		return fmt.Errorf("vcenter %q: %w", v.spec.Name, err)
	}
	return nil
}

// Sessions returns the open sessions of SOAP and REST.
func (v *VCenter) Sessions() []Session { return v.service.access.Sessions() }

// EndSessions ends the sessions of a user, or with "" all, and returns their number. Waiting calls end with NotAuthenticated;
// clients may log in again.
func (v *VCenter) EndSessions(user string) int {
	if user == "" {
		return v.service.access.EndAll()
	}
	return v.service.access.End(user)
}
