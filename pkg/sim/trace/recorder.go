package trace

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"strings"
	"sync"
	"time"

	"github.com/vmware/govmomi/vim25/types"

	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/sim/gate"
)

// Call is one call as a trace has it, without secrets.
type Call struct {
	VCenter   string         `json:"vcenter"`
	Transport gate.Transport `json:"transport"`
	// Method, Client, User, Object, Status, Fault and Rules are as in [gate.Call].
	Method string                       `json:"method"`
	Client string                       `json:"client,omitempty"`
	User   string                       `json:"user,omitempty"`
	Object types.ManagedObjectReference `json:"object,omitzero"`
	// Session numbers the sessions of a trace from 1; 0 is a call without one. A login has the number of the session that it opens.
	Session  int           `json:"session,omitempty"`
	Start    time.Time     `json:"start"`
	Duration time.Duration `json:"duration"`
	Status   int           `json:"status"`
	Fault    string        `json:"fault,omitempty"`
	Rules    []string      `json:"rules,omitempty"`

	Verb    string  `json:"verb"`
	URI     string  `json:"uri"`
	Request Message `json:"request"`
	Answer  Message `json:"answer"`
	// Lost is the number of calls before this one that were too many to be written.
	Lost int `json:"lost,omitempty"`
}

// Failed reports whether the client got no answer, a SOAP fault or an error status.
func (c *Call) Failed() bool { return c.Status == 0 || c.Status >= 400 }

// Message is a request or an answer.
type Message struct {
	Header map[string]string `json:"header,omitempty"`
	// Size is that of the body, in bytes. Body is empty for files.
	Size int64  `json:"size"`
	Body string `json:"body,omitempty"`
	// Cut reports whether the body is longer than what is kept.
	Cut bool `json:"cut,omitempty"`
}

// backlog limits the bodies that wait to be written, in bytes: then calls are left out, and counted.
const backlog = 64 << 20

// block is the size from which lines that are ready are written before others are made.
const block = 256 << 10

// Recorder writes calls as lines of JSON. It masks and writes them in its own goroutine, so that calls do not wait for it.
// Create one with [NewRecorder]; its methods are safe for concurrent use.
type Recorder struct {
	w io.Writer

	mu       sync.Mutex
	queue    []waiting
	size     int
	lost     int
	err      error
	closed   bool
	more     chan struct{} // has a value when the queue is not empty
	places   places        // of written calls
	grown    chan struct{} // closed at the next written call; nil while no caller waits
	stops    []func()
	done     chan struct{}
	sessions map[string]int // used by run only
}

type waiting struct {
	vcenter string
	e       gate.Exchange
	lost    int
}

// NewRecorder returns a recorder that writes to w. Close ends it.
func NewRecorder(w io.Writer) *Recorder {
	r := &Recorder{w: w, more: make(chan struct{}, 1), done: make(chan struct{}), sessions: map[string]int{}, places: places{by: map[kind]Place{}}}
	go r.run()
	return r
}

// Attach records the calls of a vCenter from now on, until the recorder is closed.
func (r *Recorder) Attach(vcenter string, g *gate.Gate) {
	stop := g.Tap(func(e gate.Exchange) { r.add(vcenter, e) })
	r.mu.Lock()
	defer r.mu.Unlock()
	r.stops = append(r.stops, stop)
}

func (r *Recorder) add(vcenter string, e gate.Exchange) {
	n := len(e.Request) + len(e.Answer) + 1<<10
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.closed {
		return
	}
	if r.size+n > backlog {
		r.lost++
		return
	}
	r.queue = append(r.queue, waiting{vcenter, e, r.lost})
	r.size, r.lost = r.size+n, 0
	select {
	case r.more <- struct{}{}:
	default:
	}
}

// run writes what waits, until the recorder is closed.
func (r *Recorder) run() {
	defer close(r.done)
	var lines bytes.Buffer
	var ready []line // in lines
	enc := json.NewEncoder(&lines)
	enc.SetEscapeHTML(false)
	for range r.more {
		r.mu.Lock()
		list, closed := r.queue, r.closed
		r.queue, r.size = nil, 0
		r.mu.Unlock()
		ready = ready[:0]
		for i, one := range list {
			call := r.call(one)
			begin := lines.Len()
			err := enc.Encode(&call)
			ready = append(ready, line{kind{call.VCenter, call.Client, call.Method}, int64(lines.Len() - begin)})
			if lines.Len() < block && i+1 < len(list) && err == nil {
				continue
			}
			if _, writeErr := r.w.Write(lines.Bytes()); err == nil {
				err = writeErr
			}
			lines.Reset()
			r.wrote(ready, err)
			ready = ready[:0]
		}
		if closed {
			return
		}
	}
}

// line is a call that is ready to be written.
type line struct {
	kind kind
	size int64
}

// wrote notes the places of calls that are written, and wakes who waits for them. After an error the places are unknown.
func (r *Recorder) wrote(lines []line, err error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.err == nil {
		r.err = err
	}
	for _, one := range lines {
		if r.err == nil {
			r.places.add(one.kind, one.size)
		}
	}
	if r.grown != nil {
		close(r.grown)
		r.grown = nil
	}
}

// Wait returns when more than after calls are written, with their number. It returns ctx's error when ctx ends, and io.EOF when the
// recorder is closed.
func (r *Recorder) Wait(ctx context.Context, after int) (int, error) {
	for {
		r.mu.Lock()
		if n := r.places.newest.Number; n > after {
			r.mu.Unlock()
			return n, nil
		}
		if r.grown == nil {
			r.grown = make(chan struct{})
		}
		grown := r.grown
		r.mu.Unlock()
		select {
		case <-grown:
		case <-r.done:
			return after, io.EOF
		case <-ctx.Done():
			return after, ctx.Err()
		}
	}
}

// Close stops to record, writes what waits, and returns the first error of a write.
func (r *Recorder) Close() error {
	r.mu.Lock()
	stops := r.stops
	first := !r.closed
	r.closed, r.stops = true, nil
	r.mu.Unlock()
	for _, stop := range stops {
		stop()
	}
	if first {
		select {
		case r.more <- struct{}{}:
		default:
		}
	}
	<-r.done
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.err != nil {
		return fmt.Errorf("trace: %w", r.err)
	}
	return nil
}

// call masks an exchange.
func (r *Recorder) call(w waiting) Call {
	e := w.e
	session := isSession(e.URI)
	c := Call{
		VCenter: w.vcenter, Transport: e.Transport, Method: e.Method, Client: e.Client, User: e.User, Object: e.Object,
		Start: e.Start, Duration: e.Duration, Status: e.Status, Fault: e.Fault, Rules: e.Rules, Verb: e.Verb, URI: maskURI(e.URI), Lost: w.lost,
		Request: Message{Header: maskHeader(e.RequestHeader), Size: e.In, Body: maskBody(e.Request, isJSON(e.RequestHeader), false)},
		Answer: Message{
			Header: maskHeader(e.AnswerHeader), Size: e.Out, Cut: e.Cut,
			Body: maskBody(e.Answer, isJSON(e.AnswerHeader), session && e.Verb == http.MethodPost),
		},
	}
	if id := sessionOf(e, session); id != "" {
		n, ok := r.sessions[id]
		if !ok {
			n = len(r.sessions) + 1
			r.sessions[id] = n
		}
		c.Session = n
	}
	return c
}

func isJSON(h http.Header) bool { return strings.Contains(h.Get("Content-Type"), "json") }

// sessionOf returns the cookie or id of the session that a call opens, or else uses.
func sessionOf(e gate.Exchange, session bool) string {
	if session && e.Verb == http.MethodPost && e.Status < http.StatusMultipleChoices {
		var id string
		var wrapped struct{ Value string }
		if json.Unmarshal(e.Answer, &id) == nil || json.Unmarshal(e.Answer, &wrapped) == nil && wrapped.Value != "" {
			return id + wrapped.Value
		}
	}
	if id := e.RequestHeader.Get("Vmware-Api-Session-Id"); id != "" {
		return id
	}
	for _, cookies := range [][]*http.Cookie{
		(&http.Request{Header: e.RequestHeader}).Cookies(), (&http.Response{Header: e.AnswerHeader}).Cookies(),
	} {
		for _, c := range cookies {
			if (c.Name == "vmware_soap_session" || c.Name == "vmware-api-session-id") && c.Value != "" {
				return strings.Trim(c.Value, `"`)
			}
		}
	}
	return ""
}
