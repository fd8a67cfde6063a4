package gate

import (
	"bytes"
	"errors"
	"io"
	"net/http"
	"strings"
)

const (
	// maxBody bounds a SOAP or JSON request in memory; file uploads stream through.
	maxBody = 64 << 20
	// maxTrust is the size of a body that a client is believed before it has sent it.
	maxTrust = 1 << 20
)

// receive reads the body of a SOAP or JSON request, leaves a copy for the simulator, and says what is called.
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
		// net/http starts to watch the connection when it has seen the end.
		_, err := limited.Read(make([]byte, 1))
		if err == io.EOF {
			err = nil
		}
		return body, err
	}
	return io.ReadAll(limited)
}

// bodyStatus is what a client is told whose body could not be read.
func bodyStatus(err error) int {
	if tooLarge := (*http.MaxBytesError)(nil); errors.As(err, &tooLarge) {
		return http.StatusRequestEntityTooLarge
	}
	return http.StatusBadRequest
}
