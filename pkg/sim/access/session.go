package access

import (
	"cmp"
	"crypto/rand"
	"fmt"
	"maps"
	"math"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/google/uuid"
	gosession "github.com/vmware/govmomi/session"
	"github.com/vmware/govmomi/simulator"
	"github.com/vmware/govmomi/vim25/methods"
	"github.com/vmware/govmomi/vim25/soap"
	"github.com/vmware/govmomi/vim25/types"

	"github.com/vsphere-sandbox/vsphere-sandbox/internal/notify"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/sim/internal/vc"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/sim/sts"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/topology/stock"
)

// session is a login over SOAP or REST.
type session struct {
	key     string
	cookie  string // what the client must send; the key for REST
	account *account
	rest    bool
	login   time.Time

	used  atomic.Int64 // start or end of the last call, Unix nanoseconds
	calls atomic.Int32 // in progress
	ended atomic.Bool

	vcsim  atomic.Pointer[simulator.Session] // of SOAP
	client atomic.Pointer[string]            // User-Agent of the last call
}

// clientName returns the User-Agent, if known.
func (s *session) clientName() string {
	if c := s.client.Load(); c != nil {
		return *c
	}
	return ""
}

func (s *session) touch() { s.used.Store(time.Now().UnixNano()) }

// enter and leave enclose a call: a session is not idle during a call.
func (s *session) enter() {
	s.calls.Add(1)
	s.touch()
}

func (s *session) leave() {
	s.touch()
	s.calls.Add(-1)
}

// sessions are the sessions of one vCenter, by key and by cookie. Lookups take no lock.
type sessions struct {
	limit   atomic.Int32 // 0 means none
	changed func()

	mu    sync.Mutex
	all   sync.Map // key → *session
	open  sync.Map // cookie → *session
	count atomic.Int32
}

func (t *sessions) get(key string) *session {
	v, ok := t.all.Load(key)
	if !ok {
		return nil
	}
	return v.(*session)
}

func (t *sessions) byCookie(cookie string) *session {
	v, ok := t.open.Load(strings.TrimSpace(cookie)) // a sample of pyvmomi sends a blank before the value
	if !ok {
		return nil
	}
	return v.(*session)
}

// full reports whether the limit is reached.
func (t *sessions) full() bool {
	limit := t.limit.Load()
	return limit > 0 && t.count.Load() >= limit
}

// add adds the session, unless the limit is reached.
func (t *sessions) add(s *session) error {
	s.touch()
	t.mu.Lock()
	if !s.account.inside {
		if t.full() {
			t.mu.Unlock()
			return &LimitError{Limit: int(t.limit.Load()), Count: int(t.count.Load()), User: s.account.given}
		}
		t.count.Add(1)
	}
	t.all.Store(s.key, s)
	t.open.Store(s.cookie, s)
	t.mu.Unlock()
	t.changed()
	return nil
}

// remove returns true for the one call that removed it.
func (t *sessions) remove(s *session) bool {
	if s.ended.Swap(true) {
		return false
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	t.all.Delete(s.key)
	t.open.Delete(s.cookie)
	if !s.account.inside {
		t.count.Add(-1)
	}
	return true
}

// list returns the matching sessions, oldest first.
func (t *sessions) list(match func(*session) bool) []*session {
	var found []*session
	t.all.Range(func(_, v any) bool {
		if s := v.(*session); match(s) {
			found = append(found, s)
		}
		return true
	})
	slices.SortFunc(found, func(a, b *session) int {
		return cmp.Or(a.login.Compare(b.login), cmp.Compare(a.key, b.key))
	})
	return found
}

// Session describes an open session.
type Session struct {
	Key    string
	User   string // as in the topology
	Client string // the User-Agent of its last call; for REST only if [Manager.Identify] got it
	REST   bool
	Login  time.Time
	Active time.Time // start or end of the last call
}

// Sessions lists the open sessions of SOAP and REST, oldest first.
func (m *Manager) Sessions() []Session {
	var list []Session
	for _, s := range m.sessions.list(func(s *session) bool { return !s.account.inside }) {
		list = append(list, Session{
			Key: s.key, User: s.account.given, Client: s.clientName(), REST: s.rest, Login: s.login, Active: time.Unix(0, s.used.Load()),
		})
	}
	return list
}

// EndAll ends every session of SOAP and REST, as a restart of the vCenter does, and returns their number.
func (m *Manager) EndAll() int {
	return m.endWhere(func(s *session) bool { return !s.account.inside })
}

// End ends the SOAP and REST sessions of a user, and returns their number.
func (m *Manager) End(user string) int {
	a := m.accounts.find(user)
	return m.endWhere(func(s *session) bool { return s.account == a && !a.inside })
}

// Open reports whether a session is open, by its key.
func (m *Manager) Open(key string) bool { return m.sessions.get(key) != nil }

// Limit returns the maximum number of sessions; 0: unlimited.
func (m *Manager) Limit() int { return int(m.sessions.limit.Load()) }

// SetLimit changes the maximum number of sessions. Open sessions stay open.
func (m *Manager) SetLimit(n int) { m.sessions.limit.Store(int32(n)) }

// EndSession ends a SOAP or REST session, and reports whether it existed.
func (m *Manager) EndSession(key string) bool {
	s := m.sessions.get(key)
	return s != nil && m.end(s)
}

// EndWhere ends the matching sessions, and returns their number.
func (m *Manager) EndWhere(match func(Session) bool) (n int) {
	for _, s := range m.Sessions() {
		if match(s) && m.EndSession(s.Key) {
			n++
		}
	}
	return n
}

func (m *Manager) endWhere(match func(*session) bool) (n int) {
	for _, s := range m.sessions.list(match) {
		if m.end(s) {
			n++
		}
	}
	return n
}

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

// LoginByToken opens a session for the user of a token that this vCenter issued.
func (r *receiver) LoginByToken(ctx *simulator.Context, req *types.LoginByToken) soap.HasFault {
	body := new(methods.LoginByTokenBody)
	var header struct{ Assertion sts.Assertion }
	if security, ok := ctx.Header.Security.(*simulator.Element); ok {
		_ = security.Decode(&header) // without an assertion no token is valid
	}
	user, ok := r.m.options.Token(header.Assertion.ID)
	a := r.m.accounts.find(user)
	if !ok || a == nil || ctx.Session != nil {
		body.Fault_ = soapFault(new(types.InvalidLogin))
		return body
	}
	opened, fault := r.m.open(ctx, a, req.Locale)
	if fault != nil {
		body.Fault_ = soapFault(fault)
		return body
	}
	body.Res = &types.LoginByTokenResponse{Returnval: opened}
	return body
}

// open opens a session for the call's client.
func (m *Manager) open(ctx *simulator.Context, a *account, locale string) (types.UserSession, types.BaseMethodFault) {
	if !m.mayLogin(a) {
		return types.UserSession{}, m.noPermission(m.root, viewPrivilege)
	}
	locale = cmp.Or(locale, gosession.Locale)
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

// idleOption is vCenter's setting of the idle timeout of sessions, in minutes.
const idleOption = "config.vmacore.soap.sessionTimeout"

// parseIdle parses a value of the option: minutes as in vCenter, or a duration as in vcsim.
func parseIdle(value types.AnyType) (time.Duration, bool) {
	var minutes int64
	switch v := value.(type) {
	case int32:
		minutes = int64(v)
	case int64:
		minutes = v
	case int:
		minutes = int64(v)
	case string:
		d, err := time.ParseDuration(v)
		if err == nil && d > 0 {
			return d, true
		}
		if minutes, err = strconv.ParseInt(v, 10, 64); err != nil {
			return 0, false
		}
	}
	if minutes <= 0 || minutes > math.MaxInt64/int64(time.Minute) {
		return 0, false
	}
	return time.Duration(minutes) * time.Minute, true
}

// firstIdle sets the initial idle timeout. vcsim's sessions never end, unless the option is set.
func (m *Manager) firstIdle() {
	if !m.options.Stock.Has(stock.SessionIdle) {
		m.SetIdle(DefaultIdle)
	}
	for _, o := range m.base.Map.OptionManager().Setting {
		m.idleFrom(o)
	}
	if d := time.Duration(m.options.Sessions.Idle); d > 0 && !m.options.Stock.Has(stock.SessionIdle) {
		m.SetIdle(d)
	}
}

// SetIdle changes the idle timeout, also of open sessions.
func (m *Manager) SetIdle(d time.Duration) {
	m.idle.Store(int64(d))
	if !m.options.Stock.Has(stock.SessionIdle) {
		m.idleREST.Store(int64(d))
	}
	m.wake()
}

// idleFrom applies the option. It ignores an invalid value.
func (m *Manager) idleFrom(o types.BaseOptionValue) {
	if v := o.GetOptionValue(); v.Key == idleOption {
		if d, ok := parseIdle(v.Value); ok {
			m.SetIdle(d)
		}
	}
}

// wake makes the timer recalculate.
func (m *Manager) wake() {
	notify.Wake(m.kick)
}

// watch ends sessions when they expire. One timer serves all sessions.
func (m *Manager) watch() {
	defer close(m.stopped)
	timer := time.NewTimer(time.Hour)
	defer timer.Stop()
	for {
		if next, ok := m.sweep(time.Now()); ok {
			timer.Reset(max(next, time.Millisecond))
		} else {
			timer.Stop()
		}
		select {
		case <-m.stop:
			return
		case <-m.kick:
		case <-timer.C:
		}
	}
}

// sweep ends idle sessions and returns the time until the next expiry; ok is false if no session can expire.
func (m *Manager) sweep(now time.Time) (next time.Duration, ok bool) {
	var known map[string]time.Time // last calls in vcsim's sessions
	next = math.MaxInt64
	for _, s := range m.sessions.list(func(*session) bool { return true }) {
		idle := time.Duration(m.idle.Load())
		if s.rest {
			idle = time.Duration(m.idleREST.Load())
		}
		if idle <= 0 {
			continue
		}
		left := idle
		if s.calls.Load() == 0 {
			left = idle - now.Sub(time.Unix(0, s.used.Load()))
			if left <= 0 && !s.rest {
				// Calls of other endpoints (PBM, CNS) have the session in the message, which is not visible here.
				if known == nil {
					known = m.vcsimSessions()
				}
				left = idle - now.Sub(known[s.key])
			}
			if left <= 0 && s.calls.Load() == 0 {
				m.end(s)
				continue
			}
		}
		next = min(next, left)
	}
	return next, next < math.MaxInt64
}

// vcsimSessions lists vcsim's sessions with the time of the last call. It drops ended ones, which a concurrent call may have
// restored.
func (m *Manager) vcsimSessions() map[string]time.Time {
	// Through a session, the session manager lists all sessions.
	manager, ok := m.base.Session.Get(m.base.Map.SessionManager().Self).(*simulator.SessionManager)
	if !ok {
		return nil
	}
	last := make(map[string]time.Time, len(manager.SessionList))
	for _, s := range manager.SessionList {
		last[s.Key] = s.LastActiveTime
		if m.sessions.get(s.Key) == nil && time.Since(s.LastActiveTime) > time.Minute {
			m.forget(s.Key)
		}
	}
	return last
}
