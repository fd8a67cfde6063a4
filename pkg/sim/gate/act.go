package gate

import (
	"fmt"
	"net/http"
	"time"
)

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
