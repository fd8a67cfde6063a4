package access

import (
	"fmt"
	"net/http"
	"strings"
	"time"

	"github.com/google/uuid"
	"github.com/vmware/govmomi/simulator"
	"github.com/vmware/govmomi/vim25"
	"github.com/vmware/govmomi/vim25/soap"
)

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
