package vcenter

import (
	"slices"
	"sync"
	"time"
)

const (
	// A vCenter locks an account, by default, when five logins within 180 seconds were refused.
	lockWindow   = 200 * time.Second
	lockAttempts = 4
	// restAttempts is what of them REST may use up, so that SOAP always has some left.
	restAttempts = 2
)

// api is one of a vCenter's two APIs, which have a login each.
type api int

const (
	soapAPI api = iota
	restAPI
)

// logins keeps refused logins from being repeated faster than an account can bear. What was refused waits, by back-off
// and by the number of refusals within lockWindow; anything else may be tried at once. It may be used from any
// goroutine.
type logins struct {
	backoff Backoff

	mu       sync.Mutex
	creds    Credentials // that were refused
	refusals []time.Time
	last     [2]refusal // by api
}

type refusal struct {
	err   error // nil when the last login was accepted
	count int   // in a row
	next  time.Time
}

// wait returns how long the credentials are not to be tried, with the error that they met last; zero when they may be.
func (l *logins) wait(a api, creds Credentials) (time.Duration, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	r := l.last[a]
	if creds != l.creds || r.err == nil {
		return 0, nil
	}
	now := time.Now()
	l.refusals = slices.DeleteFunc(l.refusals, func(t time.Time) bool { return now.Sub(t) > lockWindow })
	next, limit := r.next, lockAttempts
	if a == restAPI {
		limit = restAttempts
	}
	if n := len(l.refusals); n >= limit {
		if free := l.refusals[n-limit].Add(lockWindow); free.After(next) {
			next = free
		}
	}
	if d := next.Sub(now); d > 0 {
		return d, r.err
	}
	return 0, nil
}

// refused notes that the credentials were.
func (l *logins) refused(a api, creds Credentials, err error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if creds != l.creds {
		l.creds, l.refusals, l.last = creds, nil, [2]refusal{}
	}
	now := time.Now()
	l.refusals = append(l.refusals, now)
	r := &l.last[a]
	r.count++
	r.err, r.next = err, now.Add(l.backoff.pause(r.count))
}

// accepted notes that the credentials were: a vCenter, too, counts anew then.
func (l *logins) accepted(a api, creds Credentials) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if creds == l.creds {
		l.refusals, l.last[a] = nil, refusal{}
	}
}
