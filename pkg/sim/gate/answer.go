package gate

import (
	"errors"
	"net/http"
)

// errCut ends the writing of an answer that nobody gets.
var errCut = errors.New("call cut")

// maxPeek bounds what is kept of a failure's answer to tell its type.
const maxPeek = 2 << 10

// answer holds back the first byte of a response while a rule says so, cuts it off where one does, and remembers what
// became of it.
type answer struct {
	http.ResponseWriter
	call   *call
	status int
	size   int64
	cut    bool
	ours   bool   // a rule's own, which no other rule happens to
	limit  int    // bytes until the connection is reset; -1 is none
	peek   []byte // the beginning of a failure
}

// WriteHeader begins the answer.
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

// Write goes on with it.
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
		a.reset()
		return n, errCut
	}
	n, err := a.ResponseWriter.Write(p)
	a.size += int64(n)
	if a.limit >= 0 {
		a.limit -= n
	}
	return n, err
}

// FlushError sends what there is; it begins the answer if need be.
func (a *answer) FlushError() error {
	if a.status == 0 {
		a.WriteHeader(http.StatusOK)
	}
	if a.cut {
		return errCut
	}
	return http.NewResponseController(a.ResponseWriter).Flush()
}

// Unwrap lets http.ResponseController reach the connection.
func (a *answer) Unwrap() http.ResponseWriter { return a.ResponseWriter }

// finish ends the answer of a handler that has returned.
func (a *answer) finish() {
	if a.status == 0 {
		a.WriteHeader(http.StatusOK)
	}
	if a.limit >= 0 {
		a.reset()
	}
}

// reset sends what there is of the answer and resets the connection.
func (a *answer) reset() {
	if a.cut {
		return
	}
	a.cut, a.limit = true, -1
	_ = http.NewResponseController(a.ResponseWriter).Flush() // the client may be gone
	resetCall(a.call.r)
}

// hold runs an answer by the rules that happen to answers. It returns whether nobody is to get it.
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
