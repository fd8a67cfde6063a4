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

// Handler wraps the vCenter's HTTP handler. It keeps sessions alive while a call is in progress, such as a
// WaitForUpdatesEx that waits; and while there are as many sessions as there may be it turns calls without a session
// away with status 503, as vCenter does ("Out of HTTP sessions").
func (m *Manager) Handler(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if strings.HasPrefix(r.URL.Path, "/rest/") || strings.HasPrefix(r.URL.Path, "/api") {
			next.ServeHTTP(w, r) // the cookie may be there, too, but means nothing
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

// cookie finds the SOAP session of a request.
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

// Authenticated tells whose open SOAP session, or name and password, an HTTP request carries. Files of datastores ask for
// one.
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

// LimitError says that there are as many sessions as there may be. vCenter's REST endpoint answers it with status 503
// and the message id in MessageID.
type LimitError struct {
	Limit, Count int
	User         string
}

// MessageID is what vCenter's REST endpoint calls it.
const MessageID = "com.vmware.vapi.endpoint.failedToLoginMaxUserSessionCountReached"

// Error is worded as vCenter's.
func (e *LimitError) Error() string {
	return fmt.Sprintf("User session count is limited to %d. Existing session count is %d for user %s", e.Limit, e.Count, e.User)
}

// OpenREST opens a REST session for a user whose password was [Manager.Valid]. It fails with a [LimitError] or, for a
// name that is nobody's, with [ErrNoUser].
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

// CloseREST ends a REST session. One that is gone is left alone.
func (m *Manager) CloseREST(id string) {
	if s := m.sessions.get(id); s != nil && s.rest {
		m.end(s)
	}
}

// TouchREST is called for every call of a REST session: it tells whose it is, by the name in the topology, and puts its
// expiry off. It is false for a session that is over. The cookie of a SOAP session is as good as an id, as in a vCenter.
func (m *Manager) TouchREST(id string) (user string, ok bool) {
	s := m.sessions.byCookie(id)
	if s == nil {
		return "", false
	}
	s.touch()
	return s.account.given, true
}

// The key of a session is no secret: everybody reads it in SessionManager.sessionList and in events. To vcsim it is also
// the cookie, so that who may read could become administrator. As in a vCenter, the cookie is another one here: vcsim's
// registries are told how to find the key, and its answer to a login is given the cookie.

// Cookies has the sessions of calls on a registry found by our cookies: [New] does so for vim25, its owner for those of
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

// Identify tells whose session a cookie or a REST session identifier is of: its key, and the name of the user in the
// topology. It is false when there is none (any more). client is the User-Agent of the call.
func (m *Manager) Identify(cookie, client string) (key, user string, ok bool) {
	s := m.sessions.byCookie(cookie)
	if s == nil {
		return "", "", false
	}
	if s.clientName() != client {
		client = strings.Clone(client) // of its own, not a piece of the request
		s.client.Store(&client)
	}
	return s.key, s.account.given, true
}

// loginWriter puts the cookie in the place of the key in the answer to a login.
type loginWriter struct {
	http.ResponseWriter
	m *Manager
}

// Unwrap is for http.ResponseController.
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
