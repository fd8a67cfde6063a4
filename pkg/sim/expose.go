package sim

import (
	"bytes"
	"context"
	"io"
	"net"
	"net/http"
	"regexp"
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
		body := &heard{ReadCloser: r.Body}
		r.Body = body
		next.ServeHTTP(&guessed{ResponseWriter: w, g: g, r: r, body: body}, r)
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

// heard keeps the beginning of a request's body.
type heard struct {
	io.ReadCloser
	begin []byte
}

// mostHeard is more than a login has before its user name.
const mostHeard = 4096

// Read implements io.Reader.
func (h *heard) Read(p []byte) (int, error) {
	n, err := h.ReadCloser.Read(p)
	h.begin = append(h.begin, p[:min(n, mostHeard-len(h.begin))]...)
	return n, err
}

// noUser is a login without a user name, which upstream's cloud provider sends before its own.
var noUser = regexp.MustCompile(`<(\w+:)?userName\s*(/>|></)`)

// guessed delays an answer that refuses a login: 401, or a fault InvalidLogin. Who presents no credentials does not guess: a session
// that has ended, a login without a user name.
type guessed struct {
	http.ResponseWriter
	g       *guessing
	r       *http.Request
	body    *heard
	fault   bool // a SOAP fault has begun
	delayed bool
}

// Unwrap supports http.ResponseController.
func (w *guessed) Unwrap() http.ResponseWriter { return w.ResponseWriter }

// WriteHeader implements http.ResponseWriter.
func (w *guessed) WriteHeader(status int) {
	switch status {
	case http.StatusUnauthorized:
		if w.r.Header.Get("Authorization") != "" {
			w.delay()
		}
	case http.StatusInternalServerError:
		w.fault = true
	}
	w.ResponseWriter.WriteHeader(status)
}

// Write implements http.ResponseWriter.
func (w *guessed) Write(p []byte) (int, error) {
	if w.fault && bytes.Contains(p, []byte("InvalidLogin")) && !noUser.Match(w.body.begin) {
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
