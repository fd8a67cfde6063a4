package access

import (
	"fmt"
	"time"

	"github.com/google/uuid"
)

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
