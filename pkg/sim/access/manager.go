package access

import (
	"errors"
	"fmt"
	"net/http"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/google/uuid"
	"github.com/vmware/govmomi/simulator"
	"github.com/vmware/govmomi/vim25"
	"github.com/vmware/govmomi/vim25/soap"
	"github.com/vmware/govmomi/vim25/types"

	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/sim/internal/vc"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/topology"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/topology/stock"
)

// The defaults of topology.Sessions.
const (
	DefaultIdle  = 30 * time.Minute
	DefaultLimit = 2000
)

// Options configures [New].
type Options struct {
	// Administrator is the name of every vCenter's administrator ("administrator@vsphere.local"). Required.
	Administrator string
	// Users and Roles are those of the topology.
	Users []topology.User
	Roles []topology.RoleDef
	// Sessions limits sessions. Zero fields mean [DefaultIdle] and [DefaultLimit].
	Sessions topology.Sessions
	// AnyLogin accepts every user name and password, as the administrator's.
	AnyLogin bool
	// Stock names the behaviors that vcsim keeps: permissions, session-idle, session-limit.
	Stock stock.Set

	// Token returns the user of a token, by the identifier of its assertion. Default: no token is valid.
	Token func(id string) (user string, ok bool)

	// OnEnd is called when a SOAP or REST session has ended, to release its resources.
	OnEnd func(key string)
	// OnChange is called when a user may see more or fewer objects than before.
	OnChange func()
	// OnPassword is called with each password, including generated ones, before an account gets it. Its error refuses the
	// password.
	OnPassword func(string) error
	// OnSession is called with the cookie of a new session, before the client gets it.
	OnSession func(string)
}

// Manager is the access control of one vCenter. Create one with [New]. Its methods are safe for concurrent use.
type Manager struct {
	options  Options
	base     *simulator.Context
	root     vc.Ref // root folder
	accounts *accounts
	sessions *sessions
	tickets  tickets
	receiver *receiver
	quiet    *simulator.Registry

	rules      atomic.Pointer[rules]
	tree       *tree
	views      sync.Map    // *account → *view
	restricted atomic.Bool // some user lacks privileges
	writing    sync.Mutex  // held while the rules change

	idle     atomic.Int64 // nanoseconds; 0: sessions do not expire
	idleREST atomic.Int64
	kick     chan struct{}
	stop     chan struct{}
	stopped  chan struct{}
	closing  sync.Once
}

var errNoContent = errors.New("access: registry has no service content")

// New returns the access control of the vCenter of base, whose inventory may be empty. It registers a receiver, replaces the
// session cookies and starts the timer that ends idle sessions; [Manager.Close] stops it. Calls must pass [Manager.Hook] and
// [Manager.Handler].
func New(base *simulator.Context, options Options) (*Manager, error) {
	instance, ok := base.Map.Get(vim25.ServiceInstance).(*simulator.ServiceInstance)
	if !ok {
		return nil, errNoContent
	}
	if options.OnEnd == nil {
		options.OnEnd = func(string) {}
	}
	if options.Token == nil {
		options.Token = func(string) (string, bool) { return "", false }
	}
	if options.OnChange == nil {
		options.OnChange = func() {}
	}
	if options.OnSession == nil {
		options.OnSession = func(string) {}
	}
	if options.OnPassword == nil {
		options.OnPassword = func(string) error { return nil }
	}
	accounts := newAccounts(options.Administrator, options.Users)
	accounts.anyone = options.AnyLogin
	for _, a := range accounts.users {
		if err := options.OnPassword(*a.password.Load()); err != nil {
			return nil, fmt.Errorf("access: %w", err)
		}
	}
	m := &Manager{
		options:  options,
		base:     base,
		root:     instance.Content.RootFolder,
		accounts: accounts,
		quiet:    quietRegistry(),
		tree:     newTree(base),
		kick:     make(chan struct{}, 1),
		stop:     make(chan struct{}),
		stopped:  make(chan struct{}),
	}
	m.sessions = &sessions{changed: m.wake}
	if !options.Stock.Has(stock.SessionLimit) {
		m.sessions.limit.Store(DefaultLimit)
		if n := options.Sessions.Limit; n > 0 {
			m.sessions.limit.Store(n)
		}
	}
	m.firstIdle()
	r, err := m.firstRules()
	if err != nil {
		return nil, fmt.Errorf("access: %w", err)
	}
	m.put(r)
	m.receiver = newReceiver(m)
	base.Map.Put(m.receiver)
	m.Cookies(base.Map)
	go m.watch()
	return m, nil
}

// Close stops the timer and waits for it. Sessions stay.
func (m *Manager) Close() {
	m.closing.Do(func() {
		close(m.stop)
		<-m.stopped
		m.tree.close()
	})
}

// end ends a session, and returns true for the one call that did.
func (m *Manager) end(s *session) bool {
	if !m.sessions.remove(s) {
		return false
	}
	m.tickets.drop(s)
	if v := s.vcsim.Load(); v != nil {
		m.logout(v)
	}
	m.options.OnEnd(s.key)
	return true
}

func notAuthenticated(on vc.Ref) *types.NotAuthenticated {
	return &types.NotAuthenticated{NoPermission: types.NoPermission{Object: &on, PrivilegeId: viewPrivilege}}
}

// caller returns the user of a call. Clients within the process have a session without a user, and get the internal account with
// all privileges.
func (m *Manager) caller(ctx *simulator.Context) *account {
	switch {
	case ctx.Session == nil:
		return nil
	case ctx.Session.UserName == "":
		return m.accounts.inside
	}
	if s := m.sessions.get(ctx.Session.Key); s != nil {
		return s.account
	}
	return nil
}

// allowed reports whether a user has a privilege on an entity.
func (m *Manager) allowed(ctx *simulator.Context, a *account, privilege string, on vc.Ref) bool {
	r := m.rules.Load()
	switch {
	case a == nil:
		return false
	case r.powerful[a]:
		return true
	}
	v := m.view(r, a)
	if has(v.effective(ctx, on), privilege) {
		return true
	}
	return (privilege == viewPrivilege || privilege == anonymousPrivilege) && v.onTheWay(ctx, on)
}

// mayLogin reports whether a user has a permission that makes any object visible.
func (m *Manager) mayLogin(a *account) bool {
	if !m.restricted.Load() {
		return true
	}
	r := m.rules.Load()
	if r.powerful[a] {
		return true
	}
	for ref := range r.granted {
		if roles, found := r.at(a, ref, false); found && has(roles, viewPrivilege) {
			return true
		}
	}
	return false
}

// entity returns the object whose permissions count for ref: itself if it is an entity, or the entity to which it belongs.
func (m *Manager) entity(ctx *simulator.Context, ref vc.Ref) (vc.Ref, bool) {
	if m.tree.has(ref) {
		return ref, true
	}
	switch o := ctx.Map.Get(ref).(type) {
	case *simulator.VirtualMachineSnapshot:
		return o.Vm, true
	case *simulator.HostDatastoreSystem:
		if o.Host != nil {
			return o.Host.Self, true
		}
	case *simulator.HostNetworkSystem:
		if o.Host != nil {
			return o.Host.Self, true
		}
	case *simulator.HostStorageSystem:
		if o.Host != nil {
			return o.Host.Self, true
		}
	}
	return vc.Ref{}, false
}

func (m *Manager) entityOrRoot(ctx *simulator.Context, ref vc.Ref) vc.Ref {
	if on, ok := m.entity(ctx, ref); ok {
		return on
	}
	return m.root
}

// permit checks the privileges of a call.
func (m *Manager) permit(ctx *simulator.Context, a *account, method *simulator.Method) types.BaseMethodFault {
	if m.rules.Load().powerful[a] {
		return nil
	}
	if ctx.Map != m.base.Map { // another endpoint, about objects of the same inventory
		ctx = vc.Fresh(ctx)
		ctx.Map = m.base.Map
	}
	for _, n := range needsOf(ctx, method) {
		on := m.entityOrRoot(ctx, n.on)
		if !m.allowed(ctx, a, n.privilege, on) {
			return m.noPermission(on, n.privilege)
		}
	}
	return nil
}

// noPermission returns the fault in the old form and in that of vSphere 8.
func (m *Manager) noPermission(on vc.Ref, privilege string) *types.NoPermission {
	return &types.NoPermission{
		Object:      &on,
		PrivilegeId: privilege,
		MissingPrivileges: []types.NoPermissionEntityPrivileges{
			{Entity: on, PrivilegeIds: []string{privilege}},
		},
	}
}

// Handler wraps the vCenter's HTTP handler. It keeps sessions alive while a call is in progress, such as a waiting
// WaitForUpdatesEx. While the number of sessions is at its limit, it answers calls without a session with status 503, as vCenter
// does ("Out of HTTP sessions").
func (m *Manager) Handler(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if strings.HasPrefix(r.URL.Path, "/rest/") || strings.HasPrefix(r.URL.Path, "/api") {
			next.ServeHTTP(w, r) // a cookie has no meaning there
			return
		}
		s := m.cookie(r)
		switch {
		case s != nil:
			s.enter()
			defer s.leave()
		case r.Method == http.MethodPost && m.sessions.full() && isSDK(r.URL.Path):
			http.Error(w, http.StatusText(http.StatusServiceUnavailable), http.StatusServiceUnavailable)
			return
		default:
			w = &loginWriter{w, m}
		}
		next.ServeHTTP(w, r)
	})
}

func isSDK(path string) bool { return path == vim25.Path || strings.HasPrefix(path, vim25.Path+"/") }

// cookie returns the SOAP session of a request.
func (m *Manager) cookie(r *http.Request) *session {
	c, err := r.Cookie(soap.SessionCookieName)
	if err != nil {
		return nil
	}
	if s := m.sessions.byCookie(c.Value); s != nil && !s.rest {
		return s
	}
	return nil
}

// Authenticated returns the user of an HTTP request by its open SOAP session or its name and password. Downloads from datastores
// require one.
func (m *Manager) Authenticated(r *http.Request) (user string, ok bool) {
	if user, password, ok := r.BasicAuth(); ok {
		a := m.accounts.check(user, password)
		if a == nil {
			return "", false
		}
		return a.given, true
	}
	s := m.cookie(r)
	if s == nil {
		return "", false
	}
	return s.account.given, true
}

// LimitError means that the number of sessions is at its limit. vCenter's REST endpoint answers with status 503 and the message
// id in MessageID.
type LimitError struct {
	Limit, Count int
	User         string
}

// MessageID is the id in vCenter's REST endpoint.
const MessageID = "com.vmware.vapi.endpoint.failedToLoginMaxUserSessionCountReached"

// Error returns vCenter's message.
func (e *LimitError) Error() string {
	return fmt.Sprintf("User session count is limited to %d. Existing session count is %d for user %s", e.Limit, e.Count, e.User)
}

// OpenREST opens a REST session for a user whose password was [Manager.Valid]. It fails with a [LimitError] or, for an unknown
// name, with [ErrNoUser].
func (m *Manager) OpenREST(user string) (id string, err error) {
	a := m.accounts.find(user)
	if a == nil && m.accounts.anyone {
		a = m.accounts.admin
	}
	if a == nil {
		return "", fmt.Errorf("user %q: %w", user, ErrNoUser)
	}
	id = uuid.NewString()
	s := &session{key: id, cookie: id, account: a, rest: true, login: time.Now()}
	m.options.OnSession(s.cookie)
	if err := m.sessions.add(s); err != nil {
		return "", err
	}
	return id, nil
}

// CloseREST ends a REST session, if it exists.
func (m *Manager) CloseREST(id string) {
	if s := m.sessions.get(id); s != nil && s.rest {
		m.end(s)
	}
}

// TouchREST must be called for every call of a REST session. It returns the user, by the name in the topology, and postpones the
// expiry. It returns false if the session has ended. The cookie of a SOAP session also serves as an id, as in a vCenter.
func (m *Manager) TouchREST(id string) (user string, ok bool) {
	s := m.sessions.byCookie(id)
	if s == nil {
		return "", false
	}
	s.touch()
	return s.account.given, true
}

// The key of a session is public: every user can read it in SessionManager.sessionList and in events. vcsim also uses it as the
// cookie, so that any reader could become administrator. As in a vCenter, the cookie here is a different value: Cookies makes
// vcsim's registries find the key, and Handler replaces the key in the answer to a login.

// Cookies makes a registry find the sessions of its calls by these cookies. [New] does so for vim25, the owner of the Manager for
// other endpoints.
func (m *Manager) Cookies(r *simulator.Registry) {
	read := r.Cookie
	if read == nil {
		read = simulator.HTTPCookie
	}
	r.Cookie = func(ctx *simulator.Context) string {
		if s := m.sessions.byCookie(read(ctx)); s != nil {
			return s.key
		}
		return ""
	}
}

// Identify returns the key and user (by the name in the topology) of the session of a cookie or REST session identifier, and
// false if the session does not exist. client is the User-Agent of the call.
func (m *Manager) Identify(cookie, client string) (key, user string, ok bool) {
	s := m.sessions.byCookie(cookie)
	if s == nil {
		return "", "", false
	}
	if s.clientName() != client {
		client = strings.Clone(client) // a copy, to release the request
		s.client.Store(&client)
	}
	return s.key, s.account.given, true
}

// loginWriter replaces the key by the cookie in the answer to a login.
type loginWriter struct {
	http.ResponseWriter
	m *Manager
}

// Unwrap supports http.ResponseController.
func (w *loginWriter) Unwrap() http.ResponseWriter { return w.ResponseWriter }

// WriteHeader implements http.ResponseWriter. vcsim calls it before it writes.
func (w *loginWriter) WriteHeader(status int) {
	lines := w.Header()["Set-Cookie"]
	for i, line := range lines {
		rest, ok := strings.CutPrefix(line, soap.SessionCookieName+"=")
		if !ok {
			continue
		}
		key, attributes, _ := strings.Cut(rest, ";")
		if s := w.m.sessions.get(key); s != nil {
			lines[i] = soap.SessionCookieName + "=" + s.cookie + ";" + attributes
		}
	}
	w.ResponseWriter.WriteHeader(status)
}
