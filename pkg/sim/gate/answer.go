package gate

import (
	"bytes"
	"errors"
	"io"
	"net/http"
	"strings"
)

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
	ours   bool   // of a rule; no other rule applies to it
	limit  int    // bytes until the connection is reset; -1: none
	peek   []byte // the beginning of an error answer
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
