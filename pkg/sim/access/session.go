package access

import (
	"cmp"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/vmware/govmomi/simulator"
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

// UserOf returns the user of a SOAP or REST session, by the name in the topology.
func (m *Manager) UserOf(key string) (user string, ok bool) {
	s := m.sessions.get(key)
	if s == nil {
		return "", false
	}
	return s.account.given, true
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
