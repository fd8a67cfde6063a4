package sim

import (
	"fmt"

	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/sim/access"
)

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
