package access

import (
	"cmp"
	"crypto/rand"
	"crypto/sha256"
	"crypto/subtle"
	"errors"
	"fmt"
	"log/slog"
	"net/url"
	"slices"
	"sync/atomic"

	"github.com/vmware/govmomi/vim25/types"

	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/topology"
)

// The errors of [Manager.SetPassword].
var (
	ErrNoPassword = errors.New("password is empty") // vCenter refuses it, too
	ErrNoUser     = errors.New("no such user")
)

// systemDomain is the domain of every vCenter.
const systemDomain = "vsphere.local"

// consoleUser is the account of the sandbox's operator.
const consoleUser = "vsphere-sandbox"

// administrators is the group with all privileges, in vCenter's domain.
const administrators = "administrators"

// User is an account. Formatting and logging a User omits its password.
type User struct {
	Name     string // as in the topology
	Password string // current
	Groups   []string
}

// String returns the name.
func (u User) String() string { return u.Name }

// GoString returns the name.
func (u User) GoString() string { return fmt.Sprintf("access.User(%q)", u.Name) }

// LogValue returns the name.
func (u User) LogValue() slog.Value { return slog.StringValue(u.Name) }

// account is a user. Only the password changes.
type account struct {
	name     name
	given    string
	groups   []name
	password atomic.Pointer[string]
	inside   bool // internal: not listed, has all privileges
}

func (a *account) member(group name) bool { return slices.Contains(a.groups, group) }

// accounts are the users and groups of one vCenter. They do not change; passwords do.
type accounts struct {
	anyone bool   // whether every login is accepted
	domain string // of the administrator, and the default
	admin  *account
	inside *account
	login  *url.Userinfo // of inside
	owner  *account      // of the operator
	own    *url.Userinfo // of owner
	list   []*account    // in the order of the topology, after the administrator
	users  map[name]*account
	groups map[name]bool
}

func newAccounts(administrator string, users []topology.User) *accounts {
	n := parseName(administrator)
	s := &accounts{
		domain: n.in(systemDomain).domain,
		users:  make(map[name]*account),
		groups: make(map[name]bool),
		login:  url.UserPassword("inside-"+rand.Text()+"@"+systemDomain, rand.Text()),
	}
	s.groups[name{administrators, s.domain}] = true
	s.groups[name{administrators, systemDomain}] = true

	secret, _ := s.login.Password()
	s.inside = s.add(topology.User{Name: s.login.Username(), Password: secret})
	s.inside.inside = true
	s.own = url.UserPassword(consoleUser+"@"+systemDomain, rand.Text())
	secret, _ = s.own.Password()
	s.owner = s.add(topology.User{Name: s.own.Username(), Password: secret})
	s.owner.inside = true
	s.list = nil
	s.admin = s.add(topology.User{Name: administrator, Groups: []string{administrators}})
	for _, u := range users {
		s.add(u)
	}
	return s
}

// add adds a user, or adds groups and password to an existing one.
func (s *accounts) add(u topology.User) *account {
	n := parseName(u.Name).in(s.domain)
	a := s.users[n]
	if a == nil {
		a = &account{name: n, given: u.Name}
		s.users[n] = a
		s.list = append(s.list, a)
	}
	for _, g := range u.Groups {
		group := parseName(g).in(s.domain)
		s.groups[group] = true
		if !a.member(group) {
			a.groups = append(a.groups, group)
		}
	}
	if password := u.Password; password != "" {
		a.password.Store(&password)
	} else if a.password.Load() == nil {
		password = rand.Text()
		a.password.Store(&password)
	}
	return a
}

// find returns a user by any form of the name. It looks up a name without a domain in the administrator's domain, then in
// vCenter's.
func (s *accounts) find(given string) *account {
	n := parseName(given)
	if a := s.users[n.in(s.domain)]; a != nil {
		return a
	}
	return s.users[n.in(systemDomain)]
}

// principal returns a user or group by any form of its name.
func (s *accounts) principal(given string, group bool) (name, bool) {
	if !group {
		a := s.find(given)
		if a == nil {
			return name{}, false
		}
		return a.name, !a.inside
	}
	n := parseName(given)
	if in := n.in(s.domain); s.groups[in] {
		return in, true
	}
	in := n.in(systemDomain)
	return in, s.groups[in]
}

// check returns the user if the password is correct, and the administrator for every other login if all are accepted.
func (s *accounts) check(given, password string) *account {
	a := s.find(given)
	if s.anyone && given != "" && password != "" && (a == nil || !a.inside) {
		return cmp.Or(a, s.admin)
	}
	want := ""
	if a != nil {
		want = *a.password.Load()
	}
	// Sums have the same length, so that the comparison does not leak that of the password.
	x, y := sha256.Sum256([]byte(want)), sha256.Sum256([]byte(password))
	if subtle.ConstantTimeCompare(x[:], y[:]) != 1 || a == nil || password == "" {
		return nil
	}
	return a
}

// Valid reports whether the login has the name and password of a user. It accepts all forms of a name that vCenter accepts
// ("user@domain", "DOMAIN\user", any case). It is meant for simulator.SessionManager.ValidLogin.
func (m *Manager) Valid(l *types.Login) bool { return m.accounts.check(l.UserName, l.Password) != nil }

// ValidPassword reports whether the password is the user's, by any form of the name.
func (m *Manager) ValidPassword(user, password string) bool {
	return m.accounts.check(user, password) != nil
}

// Administrator returns the account of every vCenter's administrator.
func (m *Manager) Administrator() User { return m.accounts.admin.user() }

// InternalUser returns the credentials of the account for calls within the process. It has all privileges, and its sessions do not
// count.
func (m *Manager) InternalUser() *url.Userinfo { return m.accounts.login }

// OperatorUser returns the credentials of the operator's account. It has all privileges regardless of changed passwords and
// permissions, its sessions do not count, and it is not listed.
func (m *Manager) OperatorUser() *url.Userinfo { return m.accounts.own }

// Users returns the accounts with their current passwords: the administrator, then those of the topology.
func (m *Manager) Users() []User {
	users := make([]User, 0, len(m.accounts.list))
	for _, a := range m.accounts.list {
		users = append(users, a.user())
	}
	return users
}

// Secrets returns what grants access to this vCenter: the passwords of all accounts, and the cookies of open sessions.
func (m *Manager) Secrets() []string {
	var all []string
	for _, a := range m.accounts.users {
		all = append(all, *a.password.Load())
	}
	for _, s := range m.sessions.list(func(*session) bool { return true }) {
		all = append(all, s.cookie)
	}
	return all
}

// User returns the account with that name.
func (m *Manager) User(given string) (User, bool) {
	a := m.accounts.find(given)
	if a == nil || a.inside {
		return User{}, false
	}
	return a.user(), true
}

func (a *account) user() User {
	u := User{Name: a.given, Password: *a.password.Load()}
	for _, g := range a.groups {
		u.Groups = append(u.Groups, g.user+"@"+g.domain)
	}
	return u
}

// SetPassword changes the password of a user for new logins. Open sessions stay open, as in a vCenter.
func (m *Manager) SetPassword(user, password string) error {
	a := m.accounts.find(user)
	switch {
	case a == nil || a.inside:
		return fmt.Errorf("user %q: %w", user, ErrNoUser)
	case password == "":
		return fmt.Errorf("user %q: %w", user, ErrNoPassword)
	}
	if err := m.options.OnPassword(password); err != nil {
		return fmt.Errorf("user %q: %w", user, err)
	}
	a.password.Store(&password)
	return nil
}
