package nsx

import (
	"crypto/subtle"
	"fmt"
	"maps"
	"net/http"
	"slices"
	"strings"
	"sync"
)

// Role is what a user may do. Everybody may read.
type Role string

// Roles of NSX, by their API names.
const (
	// EnterpriseAdmin may change everything.
	EnterpriseAdmin Role = "enterprise_admin"
	// LBAdmin may change the objects of load balancers.
	LBAdmin Role = "lb_admin"
	// Auditor may change nothing.
	Auditor Role = "auditor"
)

// Account is a user of an NSX Manager.
type Account struct {
	User string
	// Password is for basic authentication and sessions. Without one the user is a principal identity: it authenticates by a
	// certificate of [Options.CA] whose common name is User.
	Password string
	Role     Role
	// Remote users are those of Workspace ONE Access: they authenticate with the scheme Remote in place of Basic.
	Remote bool
}

// may reports whether the user may change the object at a path.
func (a Account) may(path string) bool {
	switch a.Role {
	case EnterpriseAdmin:
		return true
	case LBAdmin:
		return strings.HasPrefix(path, "/infra/lb-")
	}
	return false
}

// accounts are the users of a manager.
type accounts struct {
	mu       sync.Mutex
	known    map[string]Account
	rejected map[string]bool // by user
}

func newAccounts(all []Account) (*accounts, error) {
	a := &accounts{known: map[string]Account{}, rejected: map[string]bool{}}
	for _, one := range all {
		if one.User == "" || strings.Contains(one.User, ":") {
			return nil, fmt.Errorf("the name %q is none of a user", one.User)
		}
		if _, double := a.known[one.User]; double {
			return nil, fmt.Errorf("two users are named %q", one.User)
		}
		if !slices.Contains([]Role{EnterpriseAdmin, LBAdmin, Auditor}, one.Role) {
			return nil, fmt.Errorf("user %q: the role %q is unknown: want %s, %s or %s", one.User, one.Role, EnterpriseAdmin, LBAdmin, Auditor)
		}
		a.known[one.User] = one
	}
	return a, nil
}

func (a *accounts) get(user string) (Account, bool) {
	a.mu.Lock()
	defer a.mu.Unlock()
	one, ok := a.known[user]
	return one, ok
}

// check returns the account with a password.
func (a *accounts) check(user, password string, remote bool) (Account, bool) {
	one, ok := a.get(user)
	ok = ok && !a.rejects(user) && one.Password != "" && one.Remote == remote && subtle.ConstantTimeCompare([]byte(one.Password), []byte(password)) == 1
	return one, ok
}

func (a *accounts) setPassword(user, password string) error {
	a.mu.Lock()
	defer a.mu.Unlock()
	one, ok := a.known[user]
	switch {
	case !ok:
		return fmt.Errorf("NSX Manager: no user is named %q", user)
	case one.Password == "" || password == "":
		return fmt.Errorf("NSX Manager: user %q: a password replaces a password", user)
	}
	one.Password = password
	a.known[user] = one
	return nil
}

// reject makes the credentials of a user invalid, or valid again.
func (a *accounts) reject(user string, rejected bool) error {
	a.mu.Lock()
	defer a.mu.Unlock()
	if _, ok := a.known[user]; !ok {
		return fmt.Errorf("NSX Manager: no user is named %q", user)
	}
	a.rejected[user] = rejected
	return nil
}

func (a *accounts) rejects(user string) bool {
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.rejected[user]
}

func (a *accounts) names() []string {
	a.mu.Lock()
	defer a.mu.Unlock()
	return slices.Sorted(maps.Keys(a.known))
}

// certified returns the account of a client's certificate, which the handshake has verified.
func (a *accounts) certified(r *http.Request) (Account, bool) {
	if r.TLS == nil || len(r.TLS.VerifiedChains) == 0 {
		return Account{}, false
	}
	one, ok := a.get(r.TLS.PeerCertificates[0].Subject.CommonName)
	return one, ok && one.Password == ""
}

// basic returns the name and the password of a header "Basic …" or "Remote …".
func basic(r *http.Request) (user, password string, remote, ok bool) {
	header := r.Header.Get("Authorization")
	if rest, is := strings.CutPrefix(header, "Remote "); is {
		remote = true
		r = &http.Request{Header: http.Header{"Authorization": {"Basic " + rest}}}
	}
	user, password, ok = r.BasicAuth()
	return user, password, remote, ok
}
