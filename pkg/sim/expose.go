package sim

import (
	"bytes"
	"context"
	"net"
	"net/http"
	"sync"
	"time"
)

const (
	// firstWait is how long the answer to a refused login takes longer; each further one from that address doubles it.
	firstWait = 200 * time.Millisecond
	longWait  = 10 * time.Second
	// forgiven is the time after which refused logins of an address are forgotten.
	forgiven = 10 * time.Minute
	// mostAddresses limits those that are remembered.
	mostAddresses = 4096
)

// guessing slows clients down that try passwords: each refused login of an address is answered later than the one before. One that is
// accepted does not end that, so that an attacker with one account gains nothing.
type guessing struct {
	first time.Duration

	mu      sync.Mutex
	refused map[string]*refusals
}

type refusals struct {
	n    int
	last time.Time
}

// slowed puts it in front of a handler.
func (g *guessing) slowed(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		next.ServeHTTP(&guessed{ResponseWriter: w, g: g, r: r}, r)
	})
}

// wait returns how long the answer to a refused login has to wait, and counts it.
func (g *guessing) wait(address string, now time.Time) time.Duration {
	host, _, err := net.SplitHostPort(address)
	if err != nil {
		host = address
	}
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.refused == nil || len(g.refused) >= mostAddresses {
		g.refused = map[string]*refusals{}
	}
	f := g.refused[host]
	if f == nil || now.Sub(f.last) > forgiven {
		f = &refusals{}
		g.refused[host] = f
	}
	f.n++
	f.last = now
	d := g.first
	for range f.n - 1 {
		if d *= 2; d >= longWait {
			return longWait
		}
	}
	return d
}

// guessed delays an answer that refuses a login: 401, or a fault InvalidLogin.
type guessed struct {
	http.ResponseWriter
	g       *guessing
	r       *http.Request
	fault   bool // a SOAP fault has begun
	delayed bool
}

// Unwrap supports http.ResponseController.
func (w *guessed) Unwrap() http.ResponseWriter { return w.ResponseWriter }

// WriteHeader implements http.ResponseWriter.
func (w *guessed) WriteHeader(status int) {
	switch status {
	case http.StatusUnauthorized:
		w.delay()
	case http.StatusInternalServerError:
		w.fault = true
	}
	w.ResponseWriter.WriteHeader(status)
}

// Write implements http.ResponseWriter.
func (w *guessed) Write(p []byte) (int, error) {
	if w.fault && bytes.Contains(p, []byte("InvalidLogin")) {
		w.delay()
	}
	return w.ResponseWriter.Write(p)
}

func (w *guessed) delay() {
	if w.delayed {
		return
	}
	w.delayed = true
	ctx, cancel := context.WithTimeout(w.r.Context(), w.g.wait(w.r.RemoteAddr, time.Now()))
	defer cancel()
	<-ctx.Done()
}
