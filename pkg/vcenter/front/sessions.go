package front

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"encoding/xml"
	"io"
	"net/http"
	"strings"
	"sync"
)

// How clients send their sessions.
const (
	soapCookie = "vmware_soap_session"
	restHeader = "Vmware-Api-Session-Id"
)

// most is the maximum number of tracked sessions: more than a vCenter has.
const most = 1 << 14

// sessions tracks the users of sessions opened through the front, and which ones were dropped. It keeps fingerprints, not the
// sessions.
type sessions struct {
	mu    sync.Mutex
	users map[string]string
	over  map[string]bool
	order []string // of users and over, oldest first
	made  func(session string)
}

func newSessions(made func(session string)) *sessions {
	if made == nil {
		made = func(string) {}
	}
	return &sessions{users: map[string]string{}, over: map[string]bool{}, made: made}
}

// secret returns the session of a request, or "".
func secret(r *http.Request) string {
	if id := r.Header.Get(restHeader); id != "" {
		return id
	}
	if c, err := r.Cookie(soapCookie); err == nil {
		return c.Value
	}
	return ""
}

// key returns the fingerprint of a session.
func key(secret string) string {
	if secret == "" {
		return ""
	}
	sum := sha256.Sum256([]byte(strings.Trim(secret, `"`)))
	return hex.EncodeToString(sum[:16])
}

// identify returns the session of a request, and its user, if known, for the gate.
func (s *sessions) identify(r *http.Request) (session, user string) {
	session = key(secret(r))
	s.mu.Lock()
	defer s.mu.Unlock()
	return session, s.users[session]
}

// drop ends a session for its client: the proxy removes it from later requests, which the vCenter then treats as unauthenticated.
// The vCenter ends the session when it has been idle for too long.
func (s *sessions) drop(session string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.remember(session)
	s.over[session] = true
}

// forget removes a dropped session from a request.
func (s *sessions) forget(r *http.Request) {
	session := key(secret(r))
	s.mu.Lock()
	over := session != "" && s.over[session]
	s.mu.Unlock()
	if !over {
		return
	}
	r.Header.Del(restHeader)
	cookies := r.Cookies()
	r.Header.Del("Cookie")
	for _, c := range cookies {
		if c.Name != soapCookie {
			r.AddCookie(c)
		}
	}
}

// userKey is the context key of the user of a login.
type userKey struct{}

// login records the user of a login request.
func (s *sessions) login(r *http.Request, body []byte) context.Context {
	user := ""
	switch {
	case strings.HasSuffix(r.URL.Path, "/session") && r.Method == http.MethodPost:
		user, _, _ = r.BasicAuth()
	case len(body) < 1<<16 && bytes.Contains(body, []byte("userName")):
		var said struct {
			User string `xml:"Body>Login>userName"`
		}
		if xml.Unmarshal(body, &said) == nil {
			user = said.User
		}
	}
	if user == "" {
		return r.Context()
	}
	return context.WithValue(r.Context(), userKey{}, user)
}

// learn records the session in the answer to a login.
func (s *sessions) learn(a *http.Response) error {
	user, _ := a.Request.Context().Value(userKey{}).(string)
	if user == "" || a.StatusCode >= http.StatusMultipleChoices {
		return nil
	}
	made := ""
	for _, c := range a.Cookies() {
		if c.Name == soapCookie {
			made = c.Value
		}
	}
	if made == "" && strings.Contains(a.Header.Get("Content-Type"), "json") {
		const longest = 1 << 12
		text, err := io.ReadAll(io.LimitReader(a.Body, longest))
		if err != nil {
			return err
		}
		a.Body = struct {
			io.Reader
			io.Closer
		}{io.MultiReader(bytes.NewReader(text), a.Body), a.Body}
		var old struct{ Value string }
		if json.Unmarshal(text, &made) != nil && json.Unmarshal(text, &old) == nil {
			made = old.Value
		}
	}
	if made == "" {
		return nil
	}
	s.made(strings.Trim(made, `"`))
	s.mu.Lock()
	defer s.mu.Unlock()
	s.remember(key(made))
	s.users[key(made)] = user
	return nil
}

// remember adds a session, and drops old ones. The caller holds the lock.
func (s *sessions) remember(session string) {
	if _, known := s.users[session]; known || s.over[session] {
		return
	}
	s.order = append(s.order, session)
	if len(s.order) > most {
		delete(s.users, s.order[0])
		delete(s.over, s.order[0])
		s.order = s.order[1:]
	}
}
