package sim

import (
	"crypto/tls"
	"fmt"
	"net/url"
	"sync"

	"github.com/vmware/govmomi/simulator"
	"github.com/vmware/govmomi/vim25/types"

	"github.com/vsphere-sandbox/vsphere-sandbox/internal/cert"
	"github.com/vsphere-sandbox/vsphere-sandbox/internal/pace"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/sim/access"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/sim/guest"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/sim/internal/vc"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/sim/rest"
)

// Changes of hosts and VMs that no client of a vCenter can make. Errors name the object.

// CausingRef makes seq the cause of what happens to the object (VM, host, datastore) and to its tags, until release is called.
// The latest call counts.
func (v *VCenter) CausingRef(ref types.ManagedObjectReference, seq uint64) (release func()) {
	releases := []func(){v.hosts.Causing(ref, seq), v.service.rest.Causing(ref, seq)}
	if ref.Type == "VirtualMachine" {
		releases = append(releases, v.guests.CausingRef(ref, seq))
	}
	return func() {
		for _, release := range releases {
			release()
		}
	}
}

// OnDied calls f with every VM that dies with its host, whose vCenter still shows it as powered on. seq is the event that reports
// it. It may be called at any time; f runs without locks on the goroutine that ended the host, before that returns.
func (v *VCenter) OnDied(f func(vm types.ManagedObjectReference, seq uint64)) { v.hosts.OnDeath(f) }

// Guest returns the VM's guest; false if the VM does not exist.
func (v *VCenter) Guest(vm types.ManagedObjectReference) (guest.Info, bool) { return v.guests.Info(vm) }

// MACs returns the MAC addresses of the VM's NICs: see [guest.Guests.MACs].
func (v *VCenter) MACs(vm types.ManagedObjectReference) []string { return v.guests.MACs(vm) }

// SetGuest replaces the VM's guest: see [guest.Guests.SetGuest].
func (v *VCenter) SetGuest(vm types.ManagedObjectReference, info guest.Info) error {
	return v.guests.SetGuest(vm, info)
}

// WriteUUID sets the VM's BIOS UUID, which may be empty, unlike in the API. It ignores a removed VM.
func (v *VCenter) WriteUUID(vm types.ManagedObjectReference, uuid string) {
	ctx := vc.Fresh(v.service.ctx)
	if _, ok := ctx.Map.Get(vm).(*simulator.VirtualMachine); !ok {
		return
	}
	vc.Set(ctx, vm, vc.P("config.uuid", uuid), vc.P("summary.config.uuid", uuid))
}

// widened are the categories that temporarily allow several tags per object.
type widened struct {
	mu sync.Mutex
	by map[string]*widening
}

type widening struct {
	was   string // its cardinality
	times int
}

// AllowSeveralTags lets objects have several tags of the category, until it was called with several == false as many times. A
// vCenter's API can only widen a category. Objects keep their tags.
func (v *VCenter) AllowSeveralTags(category string, several bool) error {
	w := &v.widened
	w.mu.Lock()
	defer w.mu.Unlock()
	is := w.by[category]
	switch {
	case several && is != nil:
		is.times++
		return nil
	case several:
		was, err := v.service.rest.SetCardinality(category, rest.Multiple)
		if err != nil {
			return fmt.Errorf("vcenter %q: tag category %s: %w", v.spec.Name, category, err)
		}
		if w.by == nil {
			w.by = make(map[string]*widening)
		}
		w.by[category] = &widening{was: was, times: 1}
		return nil
	case is == nil:
		return nil
	}
	if is.times--; is.times > 0 {
		return nil
	}
	delete(w.by, category)
	_, _ = v.service.rest.SetCardinality(category, is.was) // it may be gone
	return nil
}

// Settings that affect clients of a vCenter outside of its gate.

// Console returns the credentials of the operator's account, for connections of [VCenter.DialConsole]. Changed passwords and
// permissions of other accounts do not affect it, its sessions do not count, and [VCenter.Users] does not list it.
func (v *VCenter) Console() *url.Userinfo { return v.service.access.OperatorUser() }

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

// CertificateOptions describes a certificate for a vCenter. The zero value is one like its first.
type CertificateOptions = cert.Options

// CA is a certificate authority that signs certificates of vCenters.
type CA = cert.CA

// NewCA returns a new, self-signed authority with a common name.
func NewCA(commonName string) (*CA, error) { return cert.NewCA(commonName) }

// Speed is how many times faster than upstream's defaults time passes; 1 is real time.
type Speed = pace.Speed

// NewCertificate issues a certificate for the vCenter, with a new key, signed like its first one. It is in use once the gate gets
// it.
func (v *VCenter) NewCertificate(w CertificateOptions) (tls.Certificate, error) {
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
