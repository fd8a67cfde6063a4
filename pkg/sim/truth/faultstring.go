package truth

import (
	"bytes"
	"encoding/xml"
	"net/http"
	"reflect"
	"strconv"
	"strings"

	"github.com/vmware/govmomi/vim25/soap"
	"github.com/vmware/govmomi/vim25/types"
	vimxml "github.com/vmware/govmomi/vim25/xml"
)

// FaultStrings puts the words of a vCenter into the faults that next answers: where vcsim has none it gives nothing or the
// name of the fault's type, which is what users of clients then read.
func FaultStrings(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		f := &faultWriter{ResponseWriter: w}
		next.ServeHTTP(f, r)
		f.finish()
	})
}

// faultWriter passes answers through, but holds faults back until they are complete.
type faultWriter struct {
	http.ResponseWriter
	fault *bytes.Buffer // nil unless the answer is one
}

// Unwrap is for http.ResponseController.
func (w *faultWriter) Unwrap() http.ResponseWriter { return w.ResponseWriter }

// WriteHeader implements http.ResponseWriter.
func (w *faultWriter) WriteHeader(status int) {
	if status == http.StatusInternalServerError && w.fault == nil {
		w.fault = new(bytes.Buffer)
		return
	}
	w.ResponseWriter.WriteHeader(status)
}

// Write implements http.ResponseWriter.
func (w *faultWriter) Write(p []byte) (int, error) {
	if w.fault != nil {
		return w.fault.Write(p)
	}
	return w.ResponseWriter.Write(p)
}

func (w *faultWriter) finish() {
	if w.fault == nil {
		return
	}
	body := reword(w.fault.Bytes())
	if w.Header().Get("Content-Length") != "" {
		w.Header().Set("Content-Length", strconv.Itoa(len(body)))
	}
	w.ResponseWriter.WriteHeader(http.StatusInternalServerError)
	_, _ = w.ResponseWriter.Write(body) // the client may be gone
}

// reword replaces the text of a fault that is nothing but the name of its type. What is no such fault stays as it is.
func reword(body []byte) []byte {
	const open, end = "<faultstring>", "</faultstring>"
	_, rest, ok := bytes.Cut(body, []byte(open))
	if !ok {
		return body
	}
	text, _, ok := bytes.Cut(rest, []byte(end))
	if !ok {
		return body
	}
	var envelope struct {
		Body struct{ Fault *soap.Fault }
	}
	d := vimxml.NewDecoder(bytes.NewReader(body))
	d.TypeFunc = types.TypeFunc()
	if d.Decode(&envelope) != nil || envelope.Body.Fault == nil {
		return body
	}
	fault, ok := asFault(envelope.Body.Fault.VimFault())
	if !ok {
		return body
	}
	if said := string(text); said != "" && strings.TrimPrefix(said, "*types.") != reflect.TypeOf(fault).Elem().Name() {
		return body
	}
	message := Message(fault)
	if message == "" {
		return body
	}
	var words bytes.Buffer
	if xml.EscapeText(&words, []byte(message)) != nil {
		return body
	}
	return bytes.Replace(body, []byte(open+string(text)+end), []byte(open+words.String()+end), 1)
}

// asFault makes the pointer of a decoded fault that [Message] knows.
func asFault(v types.AnyType) (types.BaseMethodFault, bool) {
	if v == nil {
		return nil, false
	}
	p := reflect.New(reflect.TypeOf(v))
	p.Elem().Set(reflect.ValueOf(v))
	f, ok := reflect.TypeAssert[types.BaseMethodFault](p)
	return f, ok
}
