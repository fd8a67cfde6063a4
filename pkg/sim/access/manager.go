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

// Defaults of topology.Sessions.
const (
	DefaultIdle  = 30 * time.Minute
	DefaultLimit = 2000
)

// Options of [New].
type Options struct {
	// Administrator is the name of the account that every vCenter has ("administrator@vsphere.local"). Required.
	Administrator string
	// Users and Roles are those of the topology.
	Users []topology.User
	Roles []topology.RoleDef
	// Sessions limits sessions. Zero fields mean [DefaultIdle] and [DefaultLimit].
	Sessions topology.Sessions
	// Stock names what is left as vcsim has it: permissions, session-idle, session-limit.
	Stock stock.Set

	// OnEnd is called when a session, of SOAP or of REST, is over, however it ended: who keeps something for it should let
	// go of it.
	OnEnd func(key string)
	// OnChange is called when somebody may see more, or less, than before.
	OnChange func()
	// OnPassword is called with each password before an account has it, those that are generated too. Its error refuses the
	// password.
	OnPassword func(string) error
	// OnSession is called with what the client of a new session has to show, before it gets that.
	OnSession func(string)
}

// Manager is the access control of one vCenter. Make one with [New]. All methods are safe for concurrent use.
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
	restricted atomic.Bool // somebody may not do everything
	writing    sync.Mutex  // held while the rules change

	idle     atomic.Int64 // nanoseconds; 0 means that sessions do not expire
	idleREST atomic.Int64
	kick     chan struct{}
	stop     chan struct{}
	stopped  chan struct{}
	closing  sync.Once
}

var errNoContent = errors.New("access: registry has no service content")

// New makes the access control of the vCenter of base, whose inventory may be empty. It puts an object of ours into the
// registry, has sessions found by our cookies and starts the clock that ends idle sessions; [Manager.Close] stops it.
// Calls reach it through [Manager.Hook] and [Manager.Handler].
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

// Close stops the clock and waits for it. Sessions stay as they are.
func (m *Manager) Close() {
	m.closing.Do(func() {
		close(m.stop)
		<-m.stopped
		m.tree.close()
	})
}

// end ends a session, and is true for the one caller that did.
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

// caller returns the user of a call. Clients inside the process have a session without a user and may do everything,
// as the account that is inside.
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

// mayLogin reports whether a user has any permission that lets something be seen.
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

// entity returns the object that permissions for ref are set on: itself if it is an entity, or the entity it belongs to.
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

// permit checks what a call needs.
func (m *Manager) permit(ctx *simulator.Context, a *account, method *simulator.Method) types.BaseMethodFault {
	if m.rules.Load().powerful[a] {
		return nil
	}
	if ctx.Map != m.base.Map { // another endpoint's, about objects of the inventory all the same
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

// noPermission says it in the way of old and in that of vSphere 8.
func (m *Manager) noPermission(on vc.Ref, privilege string) *types.NoPermission {
	return &types.NoPermission{
		Object:      &on,
		PrivilegeId: privilege,
		MissingPrivileges: []types.NoPermissionEntityPrivileges{
			{Entity: on, PrivilegeIds: []string{privilege}},
		},
	}
}
