package gate

import (
	"cmp"
	"fmt"
	"net/http"
	"time"
)

// Rule applies Action to the calls that Match. Rules are plain data; [Gate.Add] puts one in force.
//
//	gate.Rule{
//		Name:   "CSI cannot attach",
//		Match:  gate.Match{Client: "vsphere-csi*", Methods: []string{"CnsAttachVolume"}},
//		Action: gate.FailTask{After: 5 * time.Second, Fault: gate.Fault{Type: "FileLocked"}},
//		Count:  3,
//	}
//
// Of the calls that match while the window is open, the first Skip pass; each of the others is hit with Probability; after Count
// hits the rule is spent. Rules apply in the order of Add, each at most once per call: Latency and DropSession let the call
// continue to the next rule, the first other action that hits decides.
type Rule struct {
	// Name is used in logs, [Call].Rules and [Status]. Optional.
	Name string
	// Match selects the calls. The zero value matches all.
	Match Match
	// Action is one of the action types of this package. Required.
	Action Action
	// Probability that a call is hit, above 0, up to 1. Zero means 1.
	Probability float64
	// Seed makes Probability and Jitter repeatable: the n-th matching call gets the n-th draw.
	Seed uint64
	// Skip lets that many matching calls pass first.
	Skip int
	// Count is the number of hits after which the rule is spent. Zero means no limit.
	Count int
	// Window limits the time in which the rule is in force. The zero value means always.
	Window Window
}

// Window is a range of time since [Gate.Add].
type Window struct {
	// From is when it opens. Zero: at once.
	From time.Duration
	// Until is when it closes, which releases held calls. Zero: never.
	Until time.Duration
}

// Match selects calls. All fields that are set must match. Texts are globs: * matches any text, ? one character.
type Match struct {
	// Client matches the User-Agent, case-insensitively: a text without * and ? anywhere in it, a glob as a whole.
	Client string
	// User is a case-insensitive glob for the name of the session's user. It needs [Options].Identify.
	User string
	// Session is the exact key of a session. It needs [Options].Identify.
	Session string
	// Transport is the API that is called.
	Transport Transport
	// Methods are globs for names of SOAP methods ("PowerOnVM_Task", "Cns*") or of REST operations as in [Call].Method ("POST
	// /rest/com/vmware/cis/tagging/tag-association/{id}?~action=attach"; without a verb any verb matches). One must match.
	Methods []string
	// Object is what the call is about.
	Object Object
}

// Object selects calls by the object on which the method is called, or any object in the arguments (of a retrieval, the VM of an
// attachment, the object of a tag). It does not see objects in a view, so waits and retrievals of a view do not match. All fields
// that are set must match the same object.
type Object struct {
	// Type is the exact type of the managed object ("VirtualMachine"), without subtypes.
	Type string
	// Ref is the value of its reference ("vm-42").
	Ref string
	// Name is a glob for its name in the inventory. It needs [Options].Name.
	Name string
}

// Transport is an API of a vCenter.
type Transport string

const (
	// SOAP is the Web Services API and similar ones: vim25, PBM, CNS, VSLM, STS.
	SOAP Transport = "soap"
	// REST is everything below /rest, /api and /policy.
	REST Transport = "rest"
	// HTTP is the rest: files of datastores, service versions.
	HTTP Transport = "http"
)

// ID identifies a rule of one gate. It is never reused.
type ID uint64

// Status is a rule with its state.
type Status struct {
	ID    ID
	Rule  Rule
	State Stage
	// Matched counts the calls that matched, Hits those that were hit.
	Matched int64
	Hits    int64
}

// Stage is the phase of a rule.
type Stage string

const (
	// Waiting means that the window is not open yet.
	Waiting Stage = "waiting"
	// Active means that the rule is in force.
	Active Stage = "active"
	// Spent means that the rule has hit Count times. It still holds the calls that it hit.
	Spent Stage = "spent"
	// Ended means that the window has closed.
	Ended Stage = "ended"
)

// title returns the name of a rule for messages.
func (r Rule) title() string {
	if r.Name != "" {
		return fmt.Sprintf("rule %q", r.Name)
	}
	return "rule"
}

// whole reports whether a rule matches every call.
func (m Match) whole() bool {
	return m.Client == "" && m.User == "" && m.Session == "" && m.Transport == "" && len(m.Methods) == 0 && m.Object == Object{}
}

// Action is what a rule does to a call: one of [Outage], [Refuse], [BlackHole], [Hang], [Latency], [HTTPStatus], [Reset],
// [Throttle], [Fault], [RESTError], [FailTask] and [DropSession].
type Action interface {
	// key returns the name of the action in messages.
	key() string
}

// Outage is a vCenter that is down. A rule that hits all calls stops listening and cuts every connection, as the mode [Down]
// does; any other rule cuts the connections of the calls that it hits, without an answer. Answers in progress are lost.
type Outage struct{}

// Refuse resets connections (RST). A rule that hits all calls resets new connections and leaves open ones alone, as a full
// backlog or a firewall does; any other rule resets the connections of the calls that it hits.
type Refuse struct{}

// BlackHole drops packets. The call never reaches the vCenter, and neither it nor a call in progress is answered. The connection
// stays open until the client gives up or the rule ends, which resets it. A rule that hits all calls does the same to new
// connections before TLS.
type BlackHole struct{}

// Hang holds calls until the rule ends, and then lets them continue. It also holds answers to calls in progress, including long
// polls.
type Hang struct{}

// Latency delays a call by Delay, plus or minus a random part of Jitter, and then lets it continue. The end of the rule ends the
// delay.
type Latency struct {
	// Delay must be positive.
	Delay time.Duration
	// Jitter must not exceed Delay.
	Jitter time.Duration
}

// HTTPStatus answers with an HTTP status and a plain text, as a reverse proxy before a vCenter does.
type HTTPStatus struct {
	// Code is 400 to 599.
	Code int
	// Body defaults to the text of the status.
	Body string
}

// Throttle lets a number of calls a second pass and answers the others with an HTTP status, as an overloaded vCenter does. Calls
// that pass continue to the next rule. Bursts of up to a second's worth are allowed.
type Throttle struct {
	// Rate is the number of calls a second that pass. It must be positive.
	Rate float64
	// Code is the status of the others, 400 to 599. Zero means 503.
	Code int
}

// Reset lets the vCenter execute the call and resets the connection within the answer's body: the client does not know whether
// the call was executed.
type Reset struct {
	// Bytes of the body that pass. Zero means 64. Shorter answers are reset at their end.
	Bytes int
}

// Fault answers a SOAP call with a fault. Its rule does not match other transports.
type Fault struct {
	// Type is any fault of the vSphere API ("NotAuthenticated", "NoPermission", "CnsFault", "PbmFault").
	Type string
	// Message is what clients print. The default names the type.
	Message string
	// Fields are the fields of the fault, by their names in the API. References are {type: VirtualMachine, value: vm-1}; other
	// nested objects of a polymorphic field name their type in _typeName.
	Fields map[string]any
}

// RESTError answers a REST call with an error in the form of its path, /rest or /api, or of NSX. Its rule does not match other transports.
type RESTError struct {
	// Type is an error of the Automation API ("UNAUTHENTICATED", "NOT_FOUND"), or one of NSX ("PRECONDITION_FAILED").
	Type string
	// Message is what clients print. The default names the type.
	Message string
	// Status is the HTTP status. Zero means that of the type.
	Status int
}

// FailTask answers a call of a method that returns a Task with a Task that fails. Its rule does not match other methods, and the
// vCenter does not execute the call. It needs [Options].FailTask.
type FailTask struct {
	// After is the duration of the Task.
	After time.Duration
	// Fault is the Task's error.
	Fault Fault
}

// DropSession ends the session of the call, which then fails as not authenticated. Its rule does not match calls without a
// session. It needs [Options].Identify and [Options].DropSession.
type DropSession struct {
	// After is the number of calls that each session is allowed first.
	After int
}

func (Outage) key() string      { return "down" }
func (Refuse) key() string      { return "refuse" }
func (BlackHole) key() string   { return "blackHole" }
func (Hang) key() string        { return "hang" }
func (Latency) key() string     { return "latency" }
func (HTTPStatus) key() string  { return "status" }
func (Throttle) key() string    { return "throttle" }
func (Reset) key() string       { return "reset" }
func (Fault) key() string       { return "fault" }
func (RESTError) key() string   { return "restError" }
func (FailTask) key() string    { return "failTask" }
func (DropSession) key() string { return "dropSession" }

// transport returns the only transport that an action applies to; "" means any.
func transport(a Action) Transport {
	switch a.(type) {
	case Fault, FailTask:
		return SOAP
	case RESTError:
		return REST
	default:
		return ""
	}
}

// late reports whether an action also applies to answers of calls that were in progress when its rule came into force.
func late(a Action) bool {
	switch a.(type) {
	case Outage, BlackHole, Hang:
		return true
	default:
		return false
	}
}

// verdict is how a call proceeds after an action.
type verdict int

const (
	proceed  verdict = iota // to the next rule
	serve                   // to the simulator
	answered                // ends with an answer
	cut                     // ends without an answer
)

// act applies an action to a call.
func (c *call) act(e *entry, share float64) verdict {
	switch a := e.rule.Action.(type) {
	case Outage:
		return cut
	case Refuse:
		resetCall(c.r)
		return cut
	case BlackHole:
		c.wait(e, nil)
		resetCall(c.r)
		return cut
	case Hang:
		if !c.wait(e, nil) {
			return cut
		}
	case Latency:
		t := time.NewTimer(max(0, a.Delay+time.Duration(share*float64(a.Jitter))))
		defer t.Stop()
		if !c.wait(e, t.C) {
			return cut
		}
	case HTTPStatus, Fault, RESTError, FailTask:
		c.answer.ours = true
		c.reply(e)
		return answered
	case Throttle:
		c.answer.ours = true
		a.Code = cmp.Or(a.Code, http.StatusServiceUnavailable)
		c.answer.Header().Set("Retry-After", "1")
		switch {
		case c.gate.opts.NSX:
			c.writePolicyError(a.Code, "The client exceeded the request rate of the manager.")
			return answered
		case c.gate.opts.Kubernetes:
			c.writeStatus(a.Code, "the server has received too many requests and has asked us to try again later")
			return answered
		}
		http.Error(c.answer, fmt.Sprintf("%d %s: too many calls", a.Code, http.StatusText(a.Code)), a.Code)
		return answered
	case Reset:
		c.answer.limit = a.Bytes
		if a.Bytes == 0 {
			c.answer.limit = defaultReset
		}
		return serve
	case DropSession:
		c.gate.opts.DropSession(c.Session)
	}
	return proceed
}

// defaultReset is the number of bytes of an answer that pass before its connection is reset.
const defaultReset = 64

// reply answers a call instead of the simulator.
func (c *call) reply(e *entry) {
	switch a := e.rule.Action.(type) {
	case HTTPStatus:
		body := a.Body
		if c.gate.opts.Kubernetes {
			c.writeStatus(a.Code, body)
			return
		}
		if body == "" {
			body = fmt.Sprintf("%d %s", a.Code, http.StatusText(a.Code))
		}
		http.Error(c.answer, body, a.Code)
	case Fault:
		c.writeFault(e.fault, a.Message)
	case RESTError:
		c.writeRESTError(a)
	case FailTask:
		c.failTask(a)
	}
}

// wait holds a call until the rule ends or until fires. It returns false if the client disconnects first.
func (c *call) wait(e *entry, until <-chan time.Time) bool {
	select {
	case <-e.done:
	case <-until:
	case <-c.r.Context().Done():
		return false
	}
	return c.r.Context().Err() == nil
}
