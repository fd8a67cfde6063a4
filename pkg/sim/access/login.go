package access

import (
	"crypto/rand"
	"fmt"
	"maps"
	"sync"
	"time"

	"github.com/google/uuid"
	gosession "github.com/vmware/govmomi/session"
	"github.com/vmware/govmomi/simulator"
	"github.com/vmware/govmomi/vim25/methods"
	"github.com/vmware/govmomi/vim25/soap"
	"github.com/vmware/govmomi/vim25/types"

	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/sim/internal/vc"
)

// quietRegistry returns a registry without the option of vcsim's session timeout, for logins: vcsim starts a goroutine for each
// session that lives until the timeout even if the session ends.
func quietRegistry() *simulator.Registry {
	ctx := simulator.NewContext()
	simulator.NewServiceInstance(ctx, simulator.VPX().ServiceContent, simulator.VPX().RootFolder)
	return ctx.Map
}

// Login opens a session. A user without permissions may not log in.
func (r *receiver) Login(ctx *simulator.Context, req *types.Login) soap.HasFault {
	body := new(methods.LoginBody)
	a := r.m.accounts.check(req.UserName, req.Password)
	if a == nil || ctx.Session != nil {
		body.Fault_ = soapFault(new(types.InvalidLogin))
		return body
	}
	user, fault := r.m.open(ctx, a, req.Locale)
	if fault != nil {
		body.Fault_ = soapFault(fault)
		return body
	}
	body.Res = &types.LoginResponse{Returnval: user}
	return body
}

// open opens a session for the call's client.
func (m *Manager) open(ctx *simulator.Context, a *account, locale string) (types.UserSession, types.BaseMethodFault) {
	if !m.mayLogin(a) {
		return types.UserSession{}, m.noPermission(m.root, viewPrivilege)
	}
	if locale == "" {
		locale = gosession.Locale
	}
	now := time.Now()
	s := &session{key: uuid.NewString(), cookie: rand.Text(), account: a, login: now}
	m.options.OnSession(s.cookie)
	if err := m.sessions.add(s); err != nil {
		// Rare: the HTTP handler refuses first.
		return types.UserSession{}, &types.SystemError{Reason: err.Error()}
	}
	inner := vc.Fresh(ctx)
	inner.Map = m.quiet
	inner.SetSession(simulator.Session{
		UserSession: types.UserSession{
			Key: s.key, UserName: a.name.down(), FullName: a.name.full(),
			LoginTime: now.UTC(), LastActiveTime: now.UTC(), Locale: locale, MessageLocale: locale,
		},
		Registry: simulator.NewRegistry(),
		Map:      ctx.Map,
	}, true)
	s.vcsim.Store(inner.Session)

	own := inner.Session.UserSession
	s.client.Store(&own.UserAgent)
	posting := vc.Fresh(m.base)
	posting.Session = inner.Session
	vc.Post(posting, &types.UserLoginSessionEvent{
		SessionEvent: types.SessionEvent{Event: types.Event{
			FullFormattedMessage: fmt.Sprintf("User %s@%s logged in as %s", own.UserName, own.IpAddress, own.UserAgent),
		}},
		IpAddress: own.IpAddress, UserAgent: own.UserAgent, Locale: own.Locale, SessionId: own.Key,
	})
	return own, nil
}

// logout removes a session from vcsim, with the handlers of its views and its history collectors, whose number a vCenter limits.
func (m *Manager) logout(s *simulator.Session) {
	ctx := vc.Fresh(m.base)
	ctx.Session = s
	events := ctx.Map.EventManager()
	for _, obj := range s.Registry.AllReference("") {
		c, ok := obj.(interface {
			DestroyCollector(*simulator.Context, *types.DestroyCollector) soap.HasFault
		})
		if ok {
			ctx.WithLock(events, func() { c.DestroyCollector(ctx, &types.DestroyCollector{This: obj.Reference()}) })
		}
	}
	ctx.Map.SessionManager().Logout(ctx, new(types.Logout))
}

// forget removes a key from vcsim's sessions.
func (m *Manager) forget(key string) {
	ctx := vc.Fresh(m.base)
	ctx.Session = new(simulator.Session)
	ctx.Map.SessionManager().TerminateSession(ctx, &types.TerminateSession{SessionId: []string{key}})
}

// Logout ends the caller's session.
func (r *receiver) Logout(ctx *simulator.Context, req *types.Logout) soap.HasFault {
	if s := r.m.sessions.get(ctx.Session.Key); s != nil {
		r.m.end(s)
	}
	return &methods.LogoutBody{Res: new(types.LogoutResponse)}
}

// TerminateSession ends other sessions, until one cannot be ended.
func (r *receiver) TerminateSession(ctx *simulator.Context, req *types.TerminateSession) soap.HasFault {
	body := new(methods.TerminateSessionBody)
	for _, key := range req.SessionId {
		s := r.m.sessions.get(key)
		switch {
		case key == ctx.Session.Key:
			body.Fault_ = soapFault(&types.InvalidArgument{InvalidProperty: "sessionId"})
			return body
		case s == nil:
			body.Fault_ = soapFault(new(types.NotFound))
			return body
		}
		r.m.end(s)
	}
	body.Res = new(types.TerminateSessionResponse)
	return body
}

// SessionIsActive reports whether a session with that key and user exists.
func (r *receiver) SessionIsActive(_ *simulator.Context, req *types.SessionIsActive) soap.HasFault {
	s := r.m.sessions.get(req.SessionID)
	active := s != nil && s.account == r.m.accounts.find(req.UserName)
	return &methods.SessionIsActiveBody{Res: &types.SessionIsActiveResponse{Returnval: active}}
}

// AcquireCloneTicket issues a ticket for one CloneSession, valid for the life of the caller's session.
func (r *receiver) AcquireCloneTicket(ctx *simulator.Context, _ *types.AcquireCloneTicket) soap.HasFault {
	body := new(methods.AcquireCloneTicketBody)
	s := r.m.sessions.get(ctx.Session.Key)
	if s == nil {
		body.Fault_ = soapFault(notAuthenticated(ctx.Map.SessionManager().Self))
		return body
	}
	body.Res = &types.AcquireCloneTicketResponse{Returnval: r.m.tickets.give(s)}
	return body
}

// CloneSession opens a session for the user of a ticket.
func (r *receiver) CloneSession(ctx *simulator.Context, req *types.CloneSession) soap.HasFault {
	body := new(methods.CloneSessionBody)
	from := r.m.tickets.take(req.CloneTicket)
	if from == nil || ctx.Session != nil || from.ended.Load() {
		body.Fault_ = soapFault(new(types.InvalidLogin))
		return body
	}
	user, fault := r.m.open(ctx, from.account, "")
	if fault != nil {
		body.Fault_ = soapFault(fault)
		return body
	}
	body.Res = &types.CloneSessionResponse{Returnval: user}
	return body
}

// tickets are the unused clone tickets.
type tickets struct {
	mu  sync.Mutex
	all map[string]*session
}

func (t *tickets) give(s *session) string {
	ticket := "cst-VCT-" + uuid.NewString()
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.all == nil {
		t.all = make(map[string]*session)
	}
	t.all[ticket] = s
	return ticket
}

func (t *tickets) take(ticket string) *session {
	t.mu.Lock()
	defer t.mu.Unlock()
	s := t.all[ticket]
	delete(t.all, ticket)
	return s
}

func (t *tickets) drop(s *session) {
	t.mu.Lock()
	defer t.mu.Unlock()
	maps.DeleteFunc(t.all, func(_ string, of *session) bool { return of == s })
}
