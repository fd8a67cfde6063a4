package sim

import (
	"bytes"
	"fmt"
	"io"
	"net/http"
	"sync"

	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/sim/trace"
)

// traced writes the SOAP requests of clients, and the answers of next, to w. Passwords, cookies and tokens are masked.
func traced(next http.Handler, w io.Writer) http.Handler {
	var mu sync.Mutex
	return http.HandlerFunc(func(rw http.ResponseWriter, r *http.Request) {
		if r.Method != http.MethodPost || !isXML(r.Header) {
			next.ServeHTTP(rw, r)
			return
		}
		body, err := io.ReadAll(r.Body)
		if err != nil {
			http.Error(rw, err.Error(), http.StatusBadRequest)
			return
		}
		r.Body = io.NopCloser(bytes.NewReader(body))
		mu.Lock()
		_, _ = fmt.Fprintf(w, "Request: %s\n", trace.MaskXML(body))
		mu.Unlock()
		answer := &recorder{ResponseWriter: rw}
		next.ServeHTTP(answer, r)
		mu.Lock()
		_, _ = fmt.Fprintf(w, "Response: %s\n", trace.MaskXML(answer.body.Bytes()))
		mu.Unlock()
	})
}

// isXML reports whether a request is of SOAP: govmomi and its kind name the type, others at least an action.
func isXML(h http.Header) bool {
	return h.Get("SOAPAction") != "" || bytes.Contains([]byte(h.Get("Content-Type")), []byte("xml"))
}

// recorder keeps a copy of an answer.
type recorder struct {
	http.ResponseWriter
	body bytes.Buffer
}

// Unwrap supports http.ResponseController.
func (r *recorder) Unwrap() http.ResponseWriter { return r.ResponseWriter }

// Write implements http.ResponseWriter.
func (r *recorder) Write(p []byte) (int, error) {
	r.body.Write(p)
	return r.ResponseWriter.Write(p)
}
