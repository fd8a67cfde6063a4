package gate

import (
	"fmt"
	"net/http"
	"time"
)

// Action is what happens to a call: one of [Outage], [Refuse], [BlackHole], [Hang], [Latency], [HTTPStatus], [Reset],
// [Throttle], [Fault], [RESTError], [FailTask] and [DropSession].
type Action interface {
	// key is the name in messages.
	key() string
}

// Outage is a vCenter that is not there. A rule about all calls and with nothing left to chance stops listening and cuts
// every connection, as the mode [Down] does; any other cuts the connections of the calls that it hits, which get no
// answer. Answers under way are lost.
type Outage struct{}

// Refuse resets (RST). A rule about all calls resets new connections right after they are made, and leaves open ones
// alone, as a full backlog or a firewall in front does; any other resets the connections of the calls that it hits.
type Refuse struct{}

// BlackHole swallows. The call never reaches the vCenter and is never answered; nor is anything that was under way. The
// connection stays open and silent until the client gives up or the rule ends, and is reset then: what went into the hole
// is lost. A rule about all calls does the same to new connections before TLS.
type BlackHole struct{}

// Hang holds calls back until the rule ends, and lets them continue then. It also holds back answers to calls that were
// under way, long polls among them.
type Hang struct{}

// Latency holds a call back for Delay, give or take a draw of up to Jitter, and then lets it continue. The end of the rule
// ends the delay.
type Latency struct {
	// Delay must be positive.
	Delay time.Duration
	// Jitter is no longer than Delay.
	Jitter time.Duration
}

// HTTPStatus answers with an HTTP status and a plain text, as a reverse proxy in front of a vCenter does.
type HTTPStatus struct {
	// Code is 400 to 599.
	Code int
	// Body defaults to the text of the status.
	Body string
}

// Throttle lets so many calls a second pass and answers the others with an HTTP status, as an overloaded vCenter does, which
// serves so many and turns the rest away. Calls that pass continue to the next rule. A second's worth may come at once.
type Throttle struct {
	// Rate is how many calls a second pass. It must be positive.
	Rate float64
	// Code is the status of the others, 400 to 599. Zero stands for 503.
	Code int
}

// Reset lets the vCenter do what it was asked for and resets the connection in the midst of the answer's body: the client
// cannot know whether it was done.
type Reset struct {
	// Bytes of the body that are let through. Zero stands for 64. Shorter answers are reset at their end.
	Bytes int
}

// Fault answers a SOAP call with a fault; calls of other transports do not match its rule.
type Fault struct {
	// Type of the fault: any of the vSphere API ("NotAuthenticated", "NoPermission", "CnsFault", "PbmFault").
	Type string
	// Message is what clients print. Defaults to something that names the type.
	Message string
	// Fields of the fault, by their names in the API; references are {type: VirtualMachine, value: vm-1}, other nested
	// objects of a polymorphic field name their type in _typeName.
	Fields map[string]any
}

// RESTError answers a REST call with an error in the form that clients of its path expect, /rest or /api; calls of other
// transports do not match its rule.
type RESTError struct {
	// Type is an error of the Automation API ("UNAUTHENTICATED", "NOT_FOUND").
	Type string
	// Message is what clients print. Defaults to something that names the type.
	Message string
	// Status is the HTTP status. Zero stands for the type's own.
	Status int
}

// FailTask answers a call of a method that returns a Task with a Task that ends in an error; calls of other methods do
// not match its rule. The vCenter does nothing else. Needs [Options].FailTask.
type FailTask struct {
	// After is how long the Task runs.
	After time.Duration
	// Fault is the Task's error.
	Fault Fault
}

// DropSession ends the session of the call, which continues and finds itself not authenticated. Calls without a session do
// not match its rule. Needs [Options].Identify and [Options].DropSession.
type DropSession struct {
	// After is how many calls each session is allowed first: every login is good for so many.
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

// transport is the only one that an action can happen to; "" is any.
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

// late reports whether an action also happens to answers of calls that were under way when its rule came into force.
func late(a Action) bool {
	switch a.(type) {
	case Outage, BlackHole, Hang:
		return true
	default:
		return false
	}
}

// verdict is what becomes of a call after an action.
type verdict int

const (
	goOn     verdict = iota // to the next rule
	serve                   // to the simulator
	answered                // nowhere
	cut                     // nowhere, without an answer
)

// act lets an action happen to a call.
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
		if a.Code == 0 {
			a.Code = http.StatusServiceUnavailable
		}
		c.answer.Header().Set("Retry-After", "1")
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
	return goOn
}

// defaultReset is how much of an answer is let through before its connection is reset.
const defaultReset = 64

// reply answers a call in the simulator's place.
func (c *call) reply(e *entry) {
	switch a := e.rule.Action.(type) {
	case HTTPStatus:
		body := a.Body
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

// wait holds a call until the rule ends or until fires. It returns false when the client is gone before.
func (c *call) wait(e *entry, until <-chan time.Time) bool {
	select {
	case <-e.done:
	case <-until:
	case <-c.r.Context().Done():
		return false
	}
	return c.r.Context().Err() == nil
}
