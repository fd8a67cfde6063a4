// Package control serves the control API of a sandbox: JSON over HTTP on a unix socket. It has the server and what its
// handlers share; each part of a sandbox brings its own handlers.
//
// Floor 3.
package control

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"os"
	"strconv"
	"time"

	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/event"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/sandbox/api"
)

const (
	// maxRequest bounds the body of a request, in bytes.
	maxRequest = 1 << 20
	// closeTimeout is how long readers may read what is already written when the server ends.
	closeTimeout = 2 * time.Second
)

// Server serves the control API. Set its fields before [Server.Start].
type Server struct {
	// Path returns the path of the unix socket.
	Path    func() string
	Handler func() http.Handler
	Logger  *slog.Logger

	server *http.Server
	done   chan struct{} // closed when the server has ended
}

// Start serves on a unix socket that only its owner may open.
func (s *Server) Start(context.Context) error {
	path := s.Path()
	l, err := net.Listen("unix", path)
	if err != nil {
		return err
	}
	if err := os.Chmod(path, 0o600); err != nil {
		return errors.Join(err, l.Close())
	}
	// Streams end with the server, also when their readers stay.
	ctx, cancel := context.WithCancel(context.Background())
	s.done, s.server = make(chan struct{}), &http.Server{
		Handler:           s.Handler(),
		BaseContext:       func(net.Listener) context.Context { return ctx },
		ReadHeaderTimeout: 10 * time.Second,
		ErrorLog:          slog.NewLogLogger(s.Logger.Handler(), slog.LevelError), // has panics, which end a connection without a word
	}
	s.server.RegisterOnShutdown(cancel)
	go func() {
		defer close(s.done)
		defer cancel()
		if err := s.server.Serve(l); !errors.Is(err, http.ErrServerClosed) {
			s.Logger.Error("control API", "err", err)
		}
	}()
	return nil
}

// Close ends the server. It disconnects readers that have stopped to read, such as one that was suspended with Ctrl-Z. It may be
// called before [Server.Start].
func (s *Server) Close(ctx context.Context) error {
	if s.server == nil {
		return nil
	}
	patient, cancel := context.WithTimeout(ctx, closeTimeout)
	defer cancel()
	err := s.server.Shutdown(patient)
	if errors.Is(err, context.DeadlineExceeded) {
		err = s.server.Close()
	}
	select {
	case <-s.done:
		return err
	case <-ctx.Done():
		return errors.Join(err, ctx.Err())
	}
}

// Answer returns a handler that replies with what f returns.
func Answer[Out any](f func(context.Context) (Out, error)) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		v, err := f(r.Context())
		Reply(w, v, err)
	})
}

// Request returns a handler that decodes a JSON body for f and replies with what f returns.
func Request[In, Out any](f func(context.Context, In) (Out, error)) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		var in In
		d := json.NewDecoder(http.MaxBytesReader(w, r.Body, maxRequest))
		d.DisallowUnknownFields()
		if err := d.Decode(&in); err != nil {
			Reply(w, nil, &api.Error{Code: "invalid", Message: "request: " + err.Error()})
			return
		}
		out, err := f(r.Context(), in)
		Reply(w, out, err)
	})
}

var statusOf = map[string]int{
	"not-found": http.StatusNotFound, "ambiguous": http.StatusConflict, "conflict": http.StatusConflict,
	"unavailable": http.StatusServiceUnavailable, "invalid": http.StatusBadRequest, "unchangeable": http.StatusConflict,
	"unsupported": http.StatusUnprocessableEntity, "no-trace": http.StatusConflict, "refused": http.StatusForbidden, "unconfirmed": http.StatusPreconditionRequired,
}

// Reply writes v, or err with its HTTP status.
func Reply(w http.ResponseWriter, v any, err error) {
	w.Header().Set("Content-Type", "application/json")
	if err != nil {
		var e *api.Error
		if !errors.As(err, &e) {
			e = &api.Error{Code: "internal", Message: err.Error()}
		}
		status, ok := statusOf[e.Code]
		if !ok {
			status = http.StatusInternalServerError
		}
		w.WriteHeader(status)
		v = e
	}
	_ = json.NewEncoder(w).Encode(v) // the only error is a reader who left
}

// Stream begins an answer that has a JSON document on each line. It returns how to flush it.
func Stream(w http.ResponseWriter) (flush func() error) {
	w.Header().Set("Content-Type", "application/jsonl")
	w.WriteHeader(http.StatusOK)
	return http.NewResponseController(w).Flush
}

// After returns the Seq of the event after which a request wants to read. It replies itself when the request has none.
func After(w http.ResponseWriter, r *http.Request) (seq uint64, ok bool) {
	seq, err := strconv.ParseUint(r.URL.Query().Get("after"), 10, 64)
	if err != nil {
		Reply(w, nil, &api.Error{Code: "invalid", Message: fmt.Sprintf("after: %v", err)})
	}
	return seq, err == nil
}

// Events returns a handler that streams the events of a log, see [api.EventLine].
func Events(log *event.Log) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		after, ok := After(w, r)
		if !ok {
			return
		}
		follow := r.URL.Query().Get("follow") == "true"
		flush := Stream(w)
		_ = flush()
		enc := json.NewEncoder(w)
		for {
			events, lost := log.Read(after, 1024)
			if len(events) == 0 {
				if !follow {
					return
				}
				var err error
				if events, lost, err = log.Wait(r.Context(), after, 1024); err != nil {
					return
				}
			}
			for _, e := range events {
				if enc.Encode(api.EventLine{Event: e, Lost: lost}) != nil {
					return
				}
				after, lost = e.Seq, 0
			}
			if flush() != nil {
				return
			}
		}
	}
}
