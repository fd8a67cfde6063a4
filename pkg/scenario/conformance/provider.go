package conformance

import (
	"context"
	"errors"
	"io"
	"net"
	"net/http"
	"path/filepath"
	"time"
)

// mostName is how long the name of a node may be, in bytes: that of a DNS subdomain.
const mostName = 253

// provide serves what the program asks of a cloud provider at a Unix socket in dir, until stop is called: POST /destroy, with the
// name of a node as the body, calls destroy.
func provide(ctx context.Context, dir string, destroy func(ctx context.Context, node string) error) (socket string, stop func() error, err error) {
	socket = filepath.Join(dir, "provider.sock")
	l, err := new(net.ListenConfig).Listen(ctx, "unix", socket)
	if err != nil {
		return "", nil, err
	}
	mux := http.NewServeMux()
	mux.HandleFunc("POST /destroy", func(w http.ResponseWriter, r *http.Request) {
		name, err := io.ReadAll(http.MaxBytesReader(w, r.Body, mostName))
		if err == nil {
			err = destroy(r.Context(), string(name))
		}
		if err != nil {
			http.Error(w, err.Error(), http.StatusInternalServerError)
			return
		}
		w.WriteHeader(http.StatusNoContent)
	})
	server := &http.Server{Handler: mux, ReadHeaderTimeout: time.Minute, BaseContext: func(net.Listener) context.Context { return ctx }}
	served := make(chan error, 1)
	go func() { served <- server.Serve(l) }()
	return socket, func() error {
		err := server.Close()
		if end := <-served; !errors.Is(end, http.ErrServerClosed) {
			err = errors.Join(err, end)
		}
		return err
	}, nil
}
