// Package tracing keeps what clients and vCenters of a sandbox say to each other in a file, and streams it to readers of the
// control API.
//
// Floor 3.
package tracing

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"io"
	"net/http"
	"os"

	"github.com/vsphere-sandbox/vsphere-sandbox/internal/secret/mask"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/sandbox/api"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/sandbox/control"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/sandbox/vcenters"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/sim/trace"
)

// Tracer records the calls of a sandbox's vCenters. Set its fields before use.
type Tracer struct {
	// Path is the file to write; "" for none.
	Path string
	// VCenters returns those to listen to for a reader when there is no file; none before they have started.
	VCenters func() vcenters.List
	// Secrets returns what is masked in texts besides what the trace masks.
	Secrets func() []string

	file     *os.File
	recorder *trace.Recorder
}

// Open creates the file, which only its owner can read, in the place of one that is there.
func (t *Tracer) Open(context.Context) (err error) {
	if t.file, err = os.OpenFile(t.Path, os.O_WRONLY|os.O_CREATE|os.O_TRUNC, 0o600); err != nil {
		return err
	}
	t.recorder = trace.NewRecorder(t.file)
	return nil
}

// Attach records the calls of vCenters that have just started, if there is a file.
func (t *Tracer) Attach(list vcenters.List) {
	if t.recorder == nil {
		return
	}
	for _, vc := range list {
		t.recorder.Attach(vc.Name(), vc.Gate())
	}
}

// Close writes what is left.
func (t *Tracer) Close(context.Context) error {
	if t.recorder == nil {
		return nil
	}
	return errors.Join(t.recorder.Close(), t.file.Close())
}

// Register adds the handler of the control API.
func (t *Tracer) Register(mux *http.ServeMux) {
	mux.HandleFunc("GET /v1/trace", t.serve)
	mux.HandleFunc("GET /v1/trace/last", func(w http.ResponseWriter, r *http.Request) {
		q := r.URL.Query()
		e, err := t.last(q.Get("vcenter"), q.Get("client"), q.Get("method"))
		control.Reply(w, e, err)
	})
}

// none is the error of a sandbox without a file.
func none() *api.Error {
	return &api.Error{
		Code: "no-trace", Message: "the sandbox keeps no trace of calls",
		Try: "vsphere-sandbox calls dump -f   # the calls from now on\nvsphere-sandbox up --trace FILE   # all calls",
	}
}

// last returns the newest call of these in the file.
func (t *Tracer) last(vcenter, client, method string) (e api.Exchange, err error) {
	if t.recorder == nil {
		return e, none()
	}
	place, ok := t.recorder.Last(vcenter, client, method)
	if !ok {
		return e, &api.Error{Code: "not-found", Message: "the trace has no such call", Try: "vsphere-sandbox calls dump | less"}
	}
	file, err := os.Open(t.file.Name())
	if err != nil {
		return e, err
	}
	defer file.Close()
	var newest trace.Call
	if err := trace.Read(io.NewSectionReader(file, place.Offset, place.Size), func(c trace.Call) error { newest = c; return nil }); err != nil {
		return e, err
	}
	e.Number = place.Number
	var text bytes.Buffer
	if err := (trace.Text{Full: true}).Call(&text, e.Number, &newest); err != nil {
		return e, err
	}
	var m mask.Mask
	m.Add(t.Secrets()...)
	e.Text = string(m.Bytes(text.Bytes()))
	return e, nil
}

// serve streams the calls in the file, and with follow those after them; without a file those from now on.
func (t *Tracer) serve(w http.ResponseWriter, r *http.Request) {
	follow := r.URL.Query().Get("follow") == "true"
	switch {
	case t.recorder != nil:
		t.copy(w, r, follow)
	case !follow:
		control.Reply(w, nil, none())
	case len(t.VCenters()) == 0:
		control.Reply(w, nil, api.NotBuilt())
	default:
		flush := control.Stream(w)
		_ = flush()
		live := trace.NewRecorder(flushing{w, flush})
		for _, vc := range t.VCenters() {
			live.Attach(vc.Name(), vc.Gate())
		}
		<-r.Context().Done()
		_ = live.Close() // its error is that the reader left
	}
}

// copy streams the file.
func (t *Tracer) copy(w http.ResponseWriter, r *http.Request, follow bool) {
	file, err := os.Open(t.file.Name())
	if err != nil {
		control.Reply(w, nil, err)
		return
	}
	defer file.Close()
	flush := control.Stream(w)
	lines := bufio.NewReader(file)
	seen := 0
	for {
		line, err := lines.ReadBytes('\n')
		for err == io.EOF && len(line) > 0 { // the rest of it is being written
			var more []byte
			if r.Context().Err() != nil {
				return
			}
			more, err = lines.ReadBytes('\n')
			line = append(line, more...)
		}
		if err == nil {
			seen++
			if _, err := w.Write(line); err != nil {
				return
			}
			continue
		}
		if flush() != nil || !follow {
			return
		}
		if _, err := t.recorder.Wait(r.Context(), seen); err != nil {
			return
		}
	}
}

// flushing sends each line at once.
type flushing struct {
	w     io.Writer
	flush func() error
}

func (f flushing) Write(p []byte) (int, error) {
	n, err := f.w.Write(p)
	return n, errors.Join(err, f.flush())
}
