package gate

import (
	"fmt"
	"net/http"
	"runtime/debug"
	"slices"
	"strings"
	"time"

	"github.com/vmware/govmomi/vim25/types"
)

// Call is one request that reached the gate, as seen at its end.
type Call struct {
	Transport Transport `json:"transport"`
	// Method is the SOAP method (RetrievePropertiesEx), or verb, path and action of another call with identifiers left out
	// ("POST /rest/com/vmware/cis/tagging/tag-association/{id}?~action=attach").
	Method string `json:"method"`
	// Client is the User-Agent.
	Client string `json:"client,omitempty"`
	// User and Session are those of the session that the call was made in, "" when it was made in none.
	User    string `json:"user,omitempty"`
	Session string `json:"-"` // whoever has it is logged in
	// Object is the object that a SOAP method was called on (_this).
	Object types.ManagedObjectReference `json:"object,omitzero"`
	// Name is Object's name in the inventory; set by [Gate.Recent] only.
	Name  string    `json:"name,omitempty"`
	Start time.Time `json:"start"`
	// Duration includes what the gate added to it.
	Duration time.Duration `json:"duration"`
	// In and Out are the sizes of the bodies, in bytes.
	In  int64 `json:"in"`
	Out int64 `json:"out"`
	// Status is the HTTP status; 0 when the call was cut before it had an answer.
	Status int `json:"status"`
	// Fault is the type of the SOAP fault that was the answer, or of the REST error.
	Fault string `json:"fault,omitempty"`
	// Rules names the rules that the call was hit by; rules without a name are left out, but see Hit.
	Rules []string `json:"rules,omitempty"`
	// Hit reports whether a rule, or a mode, happened to the call.
	Hit bool `json:"hit,omitempty"`
}

// Failed reports whether the client got no answer, a SOAP fault or an error status.
func (c Call) Failed() bool { return c.Status == 0 || c.Status >= 400 }

// Failure says what a call that failed was answered, as [Stat.LastError] does.
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
	// maxName bounds what is kept of a method's name.
	maxName = 256
	// maxClient bounds what is kept of a User-Agent.
	maxClient = 128
)

// call is a request on its way through the gate.
type call struct {
	Call
	gate   *Gate
	r      *http.Request
	answer *answer
	body   []byte // of SOAP and JSON requests
	space  string // namespace of the SOAP method
	tried  []*entry
	refs   []types.ManagedObjectReference // what it is about; see about
	read   bool                           // refs are there
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
	defer c.end()

	// The body is read before anything else: it names the method, and net/http only notices that a client is gone once
	// the request has been read.
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
		// Without this net/http would answer 200 with no body to a client that is still there.
		panic(http.ErrAbortHandler)
	}
}

// serve gives the call to the simulator. What panics there is a fault to the client, as an internal error of a vCenter
// is, and the end of nothing else.
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
}

// next returns the next rule that hits the call, nil when there is none. With late, only rules that happen to answers
// are looked at.
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

// pass runs the call by the rules. It returns whether the call continues to the simulator; when it does not, it has been
// answered.
func (c *call) pass() bool {
	for {
		e, share := c.next(false)
		if e == nil {
			return true
		}
		switch c.act(e, share) {
		case goOn:
		case serve:
			c.tried = append(c.tried, c.gate.table.Load().entries...) // it is decided
			return true
		case answered:
			return false
		case cut:
			panic(http.ErrAbortHandler)
		}
	}
}

// client names who calls.
func client(r *http.Request) string {
	ua := r.UserAgent()
	if len(ua) > maxClient {
		ua = ua[:maxClient]
	}
	return strings.ToValidUTF8(ua, "�")
}
