package gate

import (
	"bytes"
	"context"
	"errors"
	"io"
	"net/http"
	"strings"
	"time"
)

// Call is one request that reached the gate, as seen at its end.
type Call struct {
	// Method is the SOAP method (RetrievePropertiesEx), or verb, path and action of a REST call with identifiers left
	// out ("POST /rest/com/vmware/cis/tagging/tag-association/{id}?~action=attach").
	Method string
	// Client is the User-Agent.
	Client string
	Start  time.Time
	// Duration includes what the gate added to it.
	Duration time.Duration
	// Status is the HTTP status; 0 when the call was cut before it had an answer.
	Status int
}

// Failed tells whether the client got no answer, a SOAP fault or an error status.
func (c Call) Failed() bool { return c.Status == 0 || c.Status >= 400 }

const (
	// maxBody bounds a SOAP or JSON request in memory; file uploads stream through.
	maxBody = 64 << 20
	// maxClient bounds what is kept of a User-Agent.
	maxClient = 128
)

// errCut ends a call whose client is gone or whose gate went down.
var errCut = errors.New("call cut")

func (g *Gate) handle(w http.ResponseWriter, r *http.Request) {
	if !g.enter() {
		panic(http.ErrAbortHandler)
	}
	defer g.leave()

	call := Call{Start: time.Now(), Client: client(r)}
	answer := &answer{ResponseWriter: w, hold: func() error { return g.hold(r.Context()) }}
	defer func() {
		call.Duration = time.Since(call.Start)
		call.Status = answer.status
		g.stats.add(call)
		if g.opts.OnCall != nil {
			g.opts.OnCall(call)
		}
	}()

	// The body is read before anything else: it names the method, and net/http only notices that a client is gone once
	// the request has been read.
	soap, err := read(w, r)
	if call.Method = soap; soap == "" {
		call.Method = restMethod(r)
	}
	if err != nil {
		status := http.StatusBadRequest
		if tooLarge := (*http.MaxBytesError)(nil); errors.As(err, &tooLarge) {
			status = http.StatusRequestEntityTooLarge
		}
		http.Error(answer, err.Error(), status)
		return
	}
	if g.delay(r.Context()) != nil {
		// Without this net/http would answer 200 with no body to a client that is still there.
		panic(http.ErrAbortHandler)
	}
	g.next.ServeHTTP(answer, r)
	if answer.cut || (answer.status == 0 && answer.hold() != nil) {
		panic(http.ErrAbortHandler)
	}
	if answer.status == 0 {
		answer.status = http.StatusOK
	}
}

// delay holds a call back before the simulator sees it: for the delay when Slow, until the mode changes when Hung. A
// change of mode during the delay ends it.
func (g *Gate) delay(ctx context.Context) error {
	mode, changed := g.current()
	if mode.State == Slow {
		t := time.NewTimer(mode.Delay)
		defer t.Stop()
		select {
		case <-t.C:
		case <-changed:
		case <-ctx.Done():
			return errCut
		}
	}
	return g.hold(ctx)
}

// hold waits while the gate is Hung. It fails when the client is gone or the gate is down.
func (g *Gate) hold(ctx context.Context) error {
	for {
		mode, changed := g.current()
		switch mode.State {
		case Down:
			return errCut
		case Hung:
		default:
			return nil
		}
		select {
		case <-changed:
		case <-ctx.Done():
			return errCut
		}
	}
}

// read replaces the body of a SOAP or JSON request by one in memory and returns the SOAP method, if it is one.
func read(w http.ResponseWriter, r *http.Request) (method string, err error) {
	kind := r.Header.Get("Content-Type")
	soap := strings.HasPrefix(kind, "text/xml") || strings.HasPrefix(kind, "application/soap+xml")
	if !soap && !strings.HasPrefix(kind, "application/json") {
		return "", nil
	}
	body, err := io.ReadAll(http.MaxBytesReader(w, r.Body, maxBody))
	if err != nil {
		return "", err
	}
	r.Body = io.NopCloser(bytes.NewReader(body))
	if soap {
		method = soapMethod(body)
	}
	return method, nil
}

// client names who calls.
func client(r *http.Request) string {
	ua := r.UserAgent()
	if len(ua) > maxClient {
		ua = ua[:maxClient]
	}
	return strings.ToValidUTF8(ua, "�")
}

// answer holds back the first byte of a response while the gate is hung, and remembers the status.
type answer struct {
	http.ResponseWriter
	hold   func() error
	status int
	cut    bool
}

func (a *answer) WriteHeader(status int) {
	if a.status != 0 || a.cut {
		return
	}
	if a.hold() != nil {
		a.cut = true
		return
	}
	a.status = status
	a.ResponseWriter.WriteHeader(status)
}

func (a *answer) Write(p []byte) (int, error) {
	a.WriteHeader(http.StatusOK)
	if a.cut {
		return 0, errCut
	}
	return a.ResponseWriter.Write(p)
}

// Unwrap lets http.ResponseController reach the connection.
func (a *answer) Unwrap() http.ResponseWriter { return a.ResponseWriter }
