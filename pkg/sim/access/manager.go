package access

import (
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"time"

	"github.com/vmware/govmomi/simulator"
	"github.com/vmware/govmomi/vim25"
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
	// Stock names the behaviors that vcsim keeps: permissions, session-idle, session-limit.
	Stock stock.Set

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
