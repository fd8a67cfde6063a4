package access

import (
	"net/http"
	"strings"

	"github.com/vmware/govmomi/simulator"
	"github.com/vmware/govmomi/vim25/soap"
)

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
