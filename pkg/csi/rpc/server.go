package rpc

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"os"
	"path/filepath"
	"strings"
	"time"

	"google.golang.org/grpc"
)

const (
	// DefaultTimeout bounds a call whose client sets no deadline. Sidecars set one; this is for others.
	DefaultTimeout = 5 * time.Minute
	// farewell is how long calls under way are waited for at the end.
	farewell = 5 * time.Second
)

// Config says what to serve and where.
type Config struct {
	// Endpoint is unix:///path. A socket that a process before has left there is replaced; one that somebody serves is
	// an error.
	Endpoint string
	// Register adds the services.
	Register func(grpc.ServiceRegistrar)
	// Timeout bounds calls whose client sets no deadline; 0 for DefaultTimeout.
	Timeout time.Duration
	// Observe is told of every call that ended: the method's short name, its gRPC code, and how long it took. It is called
	// from any goroutine and must not block. None when nil.
	Observe func(method, code string, took time.Duration)
	// Logger receives calls; none when nil.
	Logger *slog.Logger
}

// Server is one gRPC server. Make it with [Listen] and give it a goroutine with [Server.Run].
type Server struct {
	listener net.Listener
	grpc     *grpc.Server
	path     string
}

// Listen makes the socket, and the folder that it is in if there is none (a driver's below a kubelet's plugins is its own), for the owner of the process alone. Calls wait until Run is called; a Server that is not run
// has to be closed.
func Listen(ctx context.Context, cfg Config) (*Server, error) {
	if cfg.Logger == nil {
		cfg.Logger = slog.New(slog.DiscardHandler)
	}
	if cfg.Timeout <= 0 {
		cfg.Timeout = DefaultTimeout
	}
	path, err := socket(cfg.Endpoint)
	if err != nil {
		return nil, fmt.Errorf("csi: %w", err)
	}
	if err := os.MkdirAll(filepath.Dir(path), 0o750); err != nil {
		return nil, fmt.Errorf("csi: endpoint %s: %w", path, err)
	}
	if err := clear(ctx, path); err != nil {
		return nil, fmt.Errorf("csi: endpoint %s: %w", path, err)
	}
	l, err := new(net.ListenConfig).Listen(ctx, "unix", path)
	if err != nil {
		return nil, fmt.Errorf("csi: %w", err)
	}
	if err := os.Chmod(path, 0o600); err != nil {
		_ = l.Close()
		return nil, fmt.Errorf("csi: %w", err)
	}
	s := grpc.NewServer(grpc.ChainUnaryInterceptor(
		observed(cfg.Observe), logged(cfg.Logger), bounded(cfg.Timeout), recovered(cfg.Logger),
	))
	cfg.Register(s)
	return &Server{listener: l, grpc: s, path: path}, nil
}

// clear removes a socket that nobody serves any more, and nothing else.
func clear(ctx context.Context, path string) error {
	info, err := os.Lstat(path)
	switch {
	case errors.Is(err, os.ErrNotExist):
		return nil
	case err != nil:
		return err
	case info.Mode().Type() != os.ModeSocket:
		return errors.New("there is something that is no socket")
	}
	d := net.Dialer{Timeout: time.Second}
	if c, err := d.DialContext(ctx, "unix", path); err == nil {
		_ = c.Close()
		return errors.New("another process serves it")
	}
	return os.Remove(path)
}

// Path is where the socket is.
func (s *Server) Path() string { return s.path }

// Run serves until ctx ends, lets calls under way end within seconds, removes the socket, and returns nil, or why it could
// not serve. It is called once.
func (s *Server) Run(ctx context.Context) error {
	failed := make(chan error, 1)
	go func() { failed <- s.grpc.Serve(s.listener) }()
	select {
	case err := <-failed:
		return fmt.Errorf("csi: %s: %w", s.path, err)
	case <-ctx.Done():
	}
	stopped := make(chan struct{})
	go func() {
		defer close(stopped)
		s.grpc.GracefulStop()
	}()
	select {
	case <-stopped:
	case <-time.After(farewell):
		s.grpc.Stop() // ends the contexts of the calls, and GracefulStop
		<-stopped
	}
	<-failed
	return nil
}

// Close gives the socket up. After Run it does nothing.
func (s *Server) Close() { s.grpc.Stop(); _ = s.listener.Close() }

// maxPath is how long the path of a unix socket can be: 108 bytes with the zero behind it on Linux, 104 on macOS.
const maxPath = 103

// socket returns the path in an endpoint: unix:///path, unix:/path as gRPC writes it, or the path alone.
func socket(endpoint string) (string, error) {
	path, found := strings.CutPrefix(endpoint, "unix:")
	if found {
		path = strings.TrimPrefix(path, "//")
	}
	switch {
	case path == "" || !filepath.IsAbs(path):
		return "", fmt.Errorf("endpoint %q: not unix:///path/of/a.sock", endpoint)
	case len(path) > maxPath:
		return "", fmt.Errorf("endpoint %q: a path of %d bytes, and a unix socket can have %d: use a shorter one", endpoint, len(path), maxPath)
	}
	return path, nil
}
