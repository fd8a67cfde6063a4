package gate

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"net/http"
	"runtime/debug"
	"slices"
	"strings"
	"time"

	"github.com/vmware/govmomi/vim25/types"
)

// Call is a request that has passed the gate, recorded at its end.
type Call struct {
	Transport Transport `json:"transport"`
	// Method is the SOAP method (RetrievePropertiesEx), or verb, path and action of another call, without identifiers ("POST
	// /rest/com/vmware/cis/tagging/tag-association/{id}?~action=attach").
	Method string `json:"method"`
	// Client is the User-Agent.
	Client string `json:"client,omitempty"`
	// User and Session are those of the call's session, "" without one.
	User    string `json:"user,omitempty"`
	Session string `json:"-"` // a secret: it grants access
	// Object is the object that a SOAP method was called on (_this).
	Object types.ManagedObjectReference `json:"object,omitzero"`
	// Name is Object's name in the inventory; set by [Gate.Recent] only.
	Name  string    `json:"name,omitempty"`
	Start time.Time `json:"start"`
	// Duration includes the delays of the gate.
	Duration time.Duration `json:"duration"`
	// In and Out are the sizes of the bodies, in bytes.
	In  int64 `json:"in"`
	Out int64 `json:"out"`
	// Status is the HTTP status; 0 if the call was cut before an answer.
	Status int `json:"status"`
	// Fault is the type of the SOAP fault or REST error in the answer.
	Fault string `json:"fault,omitempty"`
	// Rules names the rules that hit the call, without unnamed ones; see Hit.
	Rules []string `json:"rules,omitempty"`
	// Hit reports whether a rule or a mode hit the call.
	Hit bool `json:"hit,omitempty"`
}

// Failed reports whether the client got no answer, a SOAP fault or an error status.
func (c Call) Failed() bool { return c.Status == 0 || c.Status >= 400 }

// Failure describes the answer to a failed call, as [Stat.LastError] does.
func (c Call) Failure() string {
	switch {
	case c.Fault != "":
		return c.Fault
	case c.Status == 0:
		return "no answer"
	}
	return fmt.Sprintf("HTTP %d", c.Status)
}

const (
	// maxName limits the stored name of a method.
	maxName = 256
	// maxClient limits the stored User-Agent.
	maxClient = 128
)

// call is a request that is passing the gate.
type call struct {
	Call
	gate   *Gate
	r      *http.Request
	answer *answer
	body   []byte // of SOAP and JSON requests
	space  string // namespace of the SOAP method
	tried  []*entry
	refs   []types.ManagedObjectReference // what it is about; see about
	read   bool                           // refs is set
}

// handle serves one request.
func (g *Gate) handle(w http.ResponseWriter, r *http.Request) {
	if !g.enter() {
		panic(http.ErrAbortHandler)
	}
	defer g.leave()

	c := &call{gate: g, r: r}
	c.Start, c.Client = time.Now(), client(r)
	c.answer = &answer{ResponseWriter: w, call: c, limit: -1}
	c.listen()
	defer c.end()

	// The body is read first: it has the name of the method, and net/http notices a disconnected client only after the request
	// has been read.
	err := c.receive(w)
	if g.opts.Identify != nil {
		c.Session, c.User = g.opts.Identify(r)
	}
	if err != nil {
		http.Error(c.answer, err.Error(), bodyStatus(err))
	} else if len(g.table.Load().entries) == 0 || c.pass() {
		c.serve()
	}
	if c.answer.finish(); c.answer.cut {
		// Otherwise net/http would answer 200 without a body to a connected client.
		panic(http.ErrAbortHandler)
	}
}

// serve passes the call to the simulator. A panic there becomes a fault for the client, as an internal error of a vCenter does.
func (c *call) serve() {
	defer func() {
		p := recover()
		if p == nil {
			return
		}
		if p == http.ErrAbortHandler { //nolint:errorlint // the very value
			panic(p)
		}
		c.gate.opts.Logger.Error("panic in the simulator", "method", c.Method, "client", c.Client, "panic", p, "stack", string(debug.Stack()))
		if c.answer.status != 0 {
			panic(http.ErrAbortHandler)
		}
		c.internalError("the simulator panicked; its log has the details")
	}()
	c.gate.next.ServeHTTP(c.answer, c.r)
}

// end records the call.
func (c *call) end() {
	c.Duration = time.Since(c.Start)
	a := c.answer
	c.Status, c.Out = a.status, a.size
	if c.Status >= 400 && c.Fault == "" {
		switch c.Transport {
		case SOAP:
			c.Fault = faultType(a.peek)
		case REST:
			c.Fault = restErrorType(a.peek)
		}
	}
	c.gate.stats.add(c.Call)
	c.gate.recent.add(c.Call)
	if c.gate.opts.OnCall != nil {
		c.gate.opts.OnCall(c.Call)
	}
	c.report()
}

// next returns the next rule that hits the call, or nil. With lateOnly it considers only rules for answers.
func (c *call) next(lateOnly bool) (e *entry, share float64) {
	for _, e := range c.gate.table.Load().entries {
		if lateOnly && !late(e.rule.Action) || slices.Contains(c.tried, e) || !e.matches(c) {
			continue
		}
		c.tried = append(c.tried, e)
		if hit, share := e.draw(c.Session); hit {
			c.Hit = true
			if e.rule.Name != "" {
				c.Rules = append(c.Rules, e.rule.Name)
			}
			return e, share
		}
	}
	return nil, 0
}

// pass applies the rules to the call. It reports whether the call continues to the simulator; otherwise it has been answered.
func (c *call) pass() bool {
	for {
		e, share := c.next(false)
		if e == nil {
			return true
		}
		switch c.act(e, share) {
		case proceed:
		case serve:
			c.tried = append(c.tried, c.gate.table.Load().entries...) // the decision is final
			return true
		case answered:
			return false
		case cut:
			panic(http.ErrAbortHandler)
		}
	}
}

// client returns the User-Agent of a request.
func client(r *http.Request) string {
	ua := r.UserAgent()
	if len(ua) > maxClient {
		ua = ua[:maxClient]
	}
	return strings.ToValidUTF8(ua, "�")
}

// errCut ends the writing of an answer that is not sent.
var errCut = errors.New("call cut")

// maxPeek limits the part of an error answer that is kept to find its type.
const maxPeek = 2 << 10

// answer delays the first byte of a response, or cuts the response, as rules demand, and records its outcome.
type answer struct {
	http.ResponseWriter
	call   *call
	status int
	size   int64
	cut    bool
	ours   bool          // of a rule; no other rule applies to it
	limit  int           // bytes until the connection is reset; -1: none
	peek   []byte        // the beginning of an error answer
	heard  *bytes.Buffer // what was written, for taps; nil without one
}

// WriteHeader implements http.ResponseWriter.
func (a *answer) WriteHeader(status int) {
	if a.status != 0 || a.cut {
		return
	}
	if !a.ours && a.call.gate.table.Load().late && a.call.hold() {
		a.cut = true
		return
	}
	a.status = status
	a.ResponseWriter.WriteHeader(status)
}

// Write implements http.ResponseWriter.
func (a *answer) Write(p []byte) (int, error) {
	if a.status == 0 {
		a.WriteHeader(http.StatusOK)
	}
	if a.cut {
		return 0, errCut
	}
	if a.status >= http.StatusBadRequest && len(a.peek) < maxPeek {
		a.peek = append(a.peek, p[:min(len(p), maxPeek-len(a.peek))]...)
	}
	if a.limit >= 0 && len(p) >= a.limit {
		n, _ := a.ResponseWriter.Write(p[:a.limit])
		a.size += int64(n)
		a.hear(p[:n])
		a.reset()
		return n, errCut
	}
	n, err := a.ResponseWriter.Write(p)
	a.size += int64(n)
	a.hear(p[:n])
	if a.limit >= 0 {
		a.limit -= n
	}
	return n, err
}

// FlushError sends the buffered part, and begins the answer if necessary.
func (a *answer) FlushError() error {
	if a.status == 0 {
		a.WriteHeader(http.StatusOK)
	}
	if a.cut {
		return errCut
	}
	return http.NewResponseController(a.ResponseWriter).Flush()
}

// Unwrap gives http.ResponseController access to the connection.
func (a *answer) Unwrap() http.ResponseWriter { return a.ResponseWriter }

// finish ends the answer after the handler has returned.
func (a *answer) finish() {
	if a.status == 0 {
		a.WriteHeader(http.StatusOK)
	}
	if a.limit >= 0 {
		a.reset()
	}
}

// reset sends the buffered part of the answer and resets the connection.
func (a *answer) reset() {
	if a.cut {
		return
	}
	a.cut, a.limit = true, -1
	_ = http.NewResponseController(a.ResponseWriter).Flush() // the client may have disconnected
	resetCall(a.call.r)
}

// hold applies the rules for answers. It reports whether the answer must not be sent.
func (c *call) hold() (lost bool) {
	for {
		e, share := c.next(true)
		if e == nil {
			return false
		}
		if c.act(e, share) == cut {
			return true
		}
	}
}

const (
	// maxBody limits a SOAP or JSON request in memory; file uploads are streamed.
	maxBody = 64 << 20
	// maxTrust limits the memory that is allocated for an announced size.
	maxTrust = 1 << 20
)

// receive reads the body of a SOAP or JSON request, keeps a copy for the simulator, and parses the method.
func (c *call) receive(w http.ResponseWriter) (err error) {
	r := c.r
	kind := r.Header.Get("Content-Type")
	json := strings.HasPrefix(kind, "application/json")
	switch {
	case strings.HasPrefix(kind, "text/xml"), strings.HasPrefix(kind, "application/soap+xml"),
		r.Method == http.MethodPost && !json && strings.HasSuffix(r.URL.Path, "/sdk"):
		c.Transport = SOAP
	case c.gate.opts.Kubernetes:
		c.Transport, c.Method = REST, kubernetesMethod(r)
	case isREST(r.URL.Path):
		c.Transport = REST
	default:
		c.Transport = HTTP
	}
	c.In = max(r.ContentLength, 0)
	if json || c.Transport == SOAP {
		if c.body, err = readBody(w, r); err == nil {
			c.In = int64(len(c.body))
			r.Body = io.NopCloser(bytes.NewReader(c.body))
		}
	}
	if c.Transport == SOAP {
		said := readSOAP(c.body)
		c.Method, c.Object, c.space = said.method, said.this, said.namespace
	}
	if c.Method == "" {
		c.Method = restMethod(r)
	}
	return err
}

func readBody(w http.ResponseWriter, r *http.Request) ([]byte, error) {
	limited := http.MaxBytesReader(w, r.Body, maxBody)
	if n := r.ContentLength; n > 0 && n <= maxTrust {
		body := make([]byte, n)
		if _, err := io.ReadFull(limited, body); err != nil {
			return nil, err
		}
		// net/http starts to watch the connection once it has read to the end.
		_, err := limited.Read(make([]byte, 1))
		if err == io.EOF {
			err = nil
		}
		return body, err
	}
	return io.ReadAll(limited)
}

// bodyStatus returns the status for a body that could not be read.
func bodyStatus(err error) int {
	if tooLarge := (*http.MaxBytesError)(nil); errors.As(err, &tooLarge) {
		return http.StatusRequestEntityTooLarge
	}
	return http.StatusBadRequest
}
