package gate

import (
	"bytes"
	"net/http"
	"slices"
)

// MaxTapped limits the part of an answer that an [Exchange] holds, in bytes.
const MaxTapped = 4 << 20

// Exchange is a call with what client and vCenter said, as it was on the wire: with passwords, cookies and tokens.
type Exchange struct {
	Call
	// Verb and URI are those of the HTTP request.
	Verb, URI string
	// RequestHeader and AnswerHeader must not be changed.
	RequestHeader, AnswerHeader http.Header
	// Request is the body of a SOAP or JSON request, Answer that of its answer. They are empty for files.
	Request, Answer []byte
	// Cut reports whether the answer was longer than [MaxTapped].
	Cut bool
}

// tap is one receiver of exchanges.
type tap struct{ f func(Exchange) }

// Tap calls f with every exchange that begins from now on, at its end, until stop is called. f is called concurrently, from the
// goroutines of calls, and must be quick; it may keep the exchange. Without a tap, calls cost nothing more.
func (g *Gate) Tap(f func(Exchange)) (stop func()) {
	t := &tap{f}
	change := func(with bool) {
		g.change.Lock()
		defer g.change.Unlock()
		var now []*tap
		if was := g.taps.Load(); was != nil {
			now = slices.DeleteFunc(slices.Clone(*was), func(o *tap) bool { return o == t })
		}
		if with {
			now = append(now, t)
		}
		if len(now) == 0 {
			g.taps.Store(nil)
			return
		}
		g.taps.Store(&now)
	}
	change(true)
	return func() { change(false) }
}

// listen begins to keep the answer if there is a tap.
func (c *call) listen() {
	if c.gate.taps.Load() != nil {
		c.answer.heard = new(bytes.Buffer)
	}
}

// report hands the exchange to the taps.
func (c *call) report() {
	taps := c.gate.taps.Load()
	if taps == nil || c.answer.heard == nil {
		return
	}
	e := Exchange{
		Call: c.Call, Verb: c.r.Method, URI: c.r.URL.RequestURI(), RequestHeader: c.r.Header, AnswerHeader: c.answer.Header().Clone(),
		Request: c.body, Answer: c.answer.heard.Bytes(), Cut: c.answer.size > int64(c.answer.heard.Len()),
	}
	if c.Transport == HTTP {
		e.Answer, e.Cut = nil, false
	}
	for _, t := range *taps {
		t.f(e)
	}
}

// hear keeps a part of an answer.
func (a *answer) hear(p []byte) {
	if a.heard != nil && a.call.Transport != HTTP {
		a.heard.Write(p[:min(len(p), MaxTapped-a.heard.Len())])
	}
}
