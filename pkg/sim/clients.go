package sim

import (
	"crypto/tls"
	"net/url"

	"github.com/vsphere-sandbox/vsphere-sandbox/internal/cert"
)

// What happens to the clients of a vCenter, other than by its gate.

// Console is the account of whoever runs the simulation, to log in with on connections of [VCenter.DialConsole]. What is
// done to the passwords and permissions of other accounts does not concern it, its sessions do not count, and it is not
// among [VCenter.Users].
func (v *VCenter) Console() *url.Userinfo { return v.service.access.Console() }

// EndSessionsWhere ends the sessions that match, and reports how many there were. Calls that wait end with
// NotAuthenticated; clients may log in again.
func (v *VCenter) EndSessionsWhere(match func(Session) bool) int {
	return v.service.access.EndWhere(match)
}

// SessionLimit is how many sessions there may be, of SOAP and REST together; 0 is any number.
func (v *VCenter) SessionLimit() int { return v.service.access.Limit() }

// SetSessionLimit changes it. Sessions that are open stay open; new ones are refused until there is room.
func (v *VCenter) SetSessionLimit(n int) { v.service.access.SetLimit(n) }

// UpdateLimit is how many objects one answer of WaitForUpdatesEx tells of at most; 0 for a vCenter with vcsim's own
// property collector, which has no limit.
func (v *VCenter) UpdateLimit() int {
	if v.collectors == nil {
		return 0
	}
	return v.collectors.Limit()
}

// SetUpdateLimit changes it; 0 is vCenter's own. It does nothing to vcsim's own property collector.
func (v *VCenter) SetUpdateLimit(n int) {
	if v.collectors != nil {
		v.collectors.SetLimit(n)
	}
}

// CertificateWish is a certificate that a vCenter can be given. The zero value is one like its first.
type CertificateWish = cert.Wish

// NewCertificate makes a certificate for the vCenter, with a key of its own, signed as its first was. It is not used
// until the gate is told.
func (v *VCenter) NewCertificate(w CertificateWish) (tls.Certificate, error) {
	return v.authority.Replace(v.leaf, w)
}

// FirstCertificate is the one that the vCenter began with.
func (v *VCenter) FirstCertificate() tls.Certificate { return v.pair.TLS() }
