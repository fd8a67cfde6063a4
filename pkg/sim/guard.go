package sim

import (
	"bytes"
	"encoding/json"
	"net/http"
	"strings"

	"github.com/vmware/govmomi/simulator"
	"github.com/vmware/govmomi/vim25/mo"
	"github.com/vmware/govmomi/vim25/soap"
	"github.com/vmware/govmomi/vim25/types"
)

const (
	datastorePath   = "/folder/"
	restSessionPath = "/rest/com/vmware/cis/session"
	apiSessionPath  = "/api/session"
)

// guard closes the ways around the password that vcsim leaves open: REST sessions for any token, a JSON-RPC endpoint
// that hands out sessions to everybody, and datastore files without a session.
func (s *service) guard(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		basic := strings.HasPrefix(r.Header.Get("Authorization"), "Basic ")
		switch {
		case r.URL.Path == restSessionPath && r.Method == http.MethodPost && r.URL.Query().Get("~action") == "" && !basic,
			strings.TrimSuffix(r.URL.Path, "/") == "/api",
			strings.HasPrefix(r.URL.Path, datastorePath) && !s.authenticated(r):
			http.Error(w, http.StatusText(http.StatusUnauthorized), http.StatusUnauthorized)
		default:
			next.ServeHTTP(w, r)
		}
	})
}

// authenticated tells whether the request has a SOAP session or a password.
func (s *service) authenticated(r *http.Request) bool {
	if user, password, ok := r.BasicAuth(); ok {
		return s.credentials.valid(&types.Login{UserName: user, Password: password})
	}
	cookie, err := r.Cookie(soap.SessionCookieName)
	if err != nil {
		return false
	}
	// Seen through a session, the session manager lists all sessions.
	manager, ok := s.ctx.Session.Get(s.ctx.Map.SessionManager().Self).(*simulator.SessionManager)
	if !ok {
		return false
	}
	for _, session := range manager.SessionList {
		if session.Key == cookie.Value {
			return true
		}
	}
	return false
}

// hook is asked by vcsim before every SOAP call. It refuses the logins that vcsim does not check, and sends corrected
// methods to where they are corrected.
func (v *VCenter) hook(ctx *simulator.Context, method *simulator.Method) (mo.Reference, types.BaseMethodFault) {
	switch method.Name {
	case "LoginByToken", "LoginExtensionByCertificate":
		return nil, new(types.InvalidLogin)
	}
	if fault := v.truth.Check(ctx, method); fault != nil {
		return nil, fault
	}
	if fault := v.hosts.Check(ctx, method); fault != nil {
		return nil, fault
	}
	if !v.hosts.Redirect(ctx, method) && !v.guests.Redirect(ctx, method) {
		v.truth.Redirect(ctx, method)
	}
	return nil, nil
}

// apiSession is the newer form of the REST session: the same sessions, without the envelope around the answer.
func (s *service) apiSession(w http.ResponseWriter, r *http.Request) {
	if r.Method == http.MethodPost && !strings.HasPrefix(r.Header.Get("Authorization"), "Basic ") {
		http.Error(w, http.StatusText(http.StatusUnauthorized), http.StatusUnauthorized)
		return
	}
	inner := r.Clone(r.Context())
	inner.URL.Path = restSessionPath
	inner.URL.RawQuery = ""
	answer := &buffer{header: w.Header(), status: http.StatusOK}
	s.tags.ServeHTTP(answer, inner)
	var envelope struct {
		Value json.RawMessage `json:"value"`
	}
	switch {
	case answer.status != http.StatusOK:
		w.WriteHeader(answer.status)
	case r.Method == http.MethodDelete:
		w.WriteHeader(http.StatusNoContent)
	case json.Unmarshal(answer.body.Bytes(), &envelope) != nil:
		w.WriteHeader(http.StatusInternalServerError)
	default:
		w.Header().Set("Content-Type", "application/json")
		if r.Method == http.MethodPost {
			w.WriteHeader(http.StatusCreated)
		}
		_, _ = w.Write(envelope.Value) // a client that is gone needs no answer
	}
}

// buffer holds an answer back.
type buffer struct {
	header http.Header
	status int
	body   bytes.Buffer
}

func (b *buffer) Header() http.Header         { return b.header }
func (b *buffer) WriteHeader(status int)      { b.status = status }
func (b *buffer) Write(p []byte) (int, error) { return b.body.Write(p) }
