package nsx

import (
	"crypto/rand"
	"crypto/subtle"
	"net/http"
	"sync"
	"time"
)

const (
	cookieName = "JSESSIONID"
	// tokenHeader has the token that a session's requests must repeat.
	tokenHeader = "X-Xsrf-Token"
	// sessionIdle is NSX's default api_session timeout.
	sessionIdle = 30 * time.Minute
	// maxSessions limits the memory of a manager. The oldest session ends first.
	maxSessions = 10_000
)

// session is what POST /api/session/create opens.
type session struct {
	user    string
	token   string
	used    time.Time
	created int64
}

// sessions are the open sessions of a manager.
type sessions struct {
	opened func(...string)

	mu      sync.Mutex
	created int64
	open    map[string]*session // by the cookie
}

func (s *sessions) create(user string) (id, token string) {
	id, token = rand.Text(), rand.Text()
	if s.opened != nil {
		s.opened(id, token)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if len(s.open) >= maxSessions {
		oldest := ""
		for id, one := range s.open {
			if oldest == "" || one.created < s.open[oldest].created {
				oldest = id
			}
		}
		delete(s.open, oldest)
	}
	s.created++
	s.open[id] = &session{user: user, token: token, used: time.Now(), created: s.created}
	return id, token
}

// of returns the cookie of a request's session, and its user if the session is open.
func (s *sessions) of(r *http.Request) (id, user string, valid, token bool) {
	cookie, err := r.Cookie(cookieName)
	if err != nil {
		return "", "", false, false
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	one := s.open[cookie.Value]
	if one == nil {
		return cookie.Value, "", false, false
	}
	if time.Since(one.used) > sessionIdle {
		delete(s.open, cookie.Value)
		return cookie.Value, "", false, false
	}
	one.used = time.Now()
	given := r.Header.Get(tokenHeader)
	return cookie.Value, one.user, true, subtle.ConstantTimeCompare([]byte(given), []byte(one.token)) == 1
}

func (s *sessions) count() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return len(s.open)
}

func (s *sessions) end(id string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.open, id)
}

// endOf ends the sessions of a user, of all users for "", and returns their number.
func (s *sessions) endOf(user string) (ended int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for id, one := range s.open {
		if user == "" || one.user == user {
			delete(s.open, id)
			ended++
		}
	}
	return ended
}
