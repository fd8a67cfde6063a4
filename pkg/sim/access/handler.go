package access

import (
	"net/http"
	"strings"

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
