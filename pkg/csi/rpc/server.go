package rpc

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"os"
	"path"
	"path/filepath"
	"runtime/debug"
	"slices"
	"strings"
	"time"

	"github.com/kubernetes-csi/csi-lib-utils/protosanitizer"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
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

// observed tells of calls that ended.
func observed(observe func(method, code string, took time.Duration)) grpc.UnaryServerInterceptor {
	return func(ctx context.Context, r any, info *grpc.UnaryServerInfo, next grpc.UnaryHandler) (any, error) {
		if observe == nil {
			return next(ctx, r)
		}
		began := time.Now()
		answer, err := next(ctx, r)
		observe(path.Base(info.FullMethod), status.Code(err).String(), time.Since(began))
		return answer, err
	}
}

// bounded ends calls for which nobody else has set an end.
func bounded(limit time.Duration) grpc.UnaryServerInterceptor {
	return func(ctx context.Context, r any, _ *grpc.UnaryServerInfo, next grpc.UnaryHandler) (any, error) {
		if _, ok := ctx.Deadline(); ok {
			return next(ctx, r)
		}
		ctx, cancel := context.WithTimeout(ctx, limit)
		defer cancel()
		return next(ctx, r)
	}
}

// recovered makes a panic the failure of one call.
func recovered(log *slog.Logger) grpc.UnaryServerInterceptor {
	return func(ctx context.Context, r any, info *grpc.UnaryServerInfo, next grpc.UnaryHandler) (answer any, err error) {
		defer func() {
			if p := recover(); p != nil {
				method := path.Base(info.FullMethod)
				log.Error("call panicked", "method", method, "panic", fmt.Sprint(p), "stack", string(debug.Stack()))
				answer, err = nil, status.Errorf(codes.Internal, "%s: a mistake of the driver, whose log has the stack: %v", method, p)
			}
		}()
		return next(ctx, r)
	}
}

// logged tells of a call when it ends: what changes something at Info, what only asks at Debug, and what went wrong louder
// than that.
func logged(log *slog.Logger) grpc.UnaryServerInterceptor {
	return func(ctx context.Context, r any, info *grpc.UnaryServerInfo, next grpc.UnaryHandler) (any, error) {
		method := path.Base(info.FullMethod)
		log.Debug("call began", "method", method, "request", text{r})
		began := time.Now()
		answer, err := next(ctx, r)
		// Ordinary pairs: klog's handler, which is behind most loggers here, forgets what With was given.
		pairs := slices.Concat([]any{"method", method}, subject(r), []any{"seconds", time.Since(began).Seconds()})
		switch code := status.Code(err); {
		case err == nil && asks(method):
			log.Debug("call done", append(pairs, "answer", text{answer})...)
		case err == nil:
			log.Info("call done", pairs...)
		case code == codes.Internal || code == codes.Unknown:
			log.Error("call failed", append(pairs, "code", code.String(), "err", status.Convert(err).Message())...)
		default:
			log.Warn("call refused", append(pairs, "code", code.String(), "err", status.Convert(err).Message())...)
		}
		return answer, err
	}
}

// asks says that a method changes nothing.
func asks(method string) bool {
	return strings.Contains(method, "Get") || strings.HasPrefix(method, "List") || strings.HasPrefix(method, "Validate") || method == "Probe"
}

// subject is the ids in a request.
func subject(r any) (pairs []any) {
	add := func(key, value string) {
		if value != "" {
			pairs = append(pairs, key, value)
		}
	}
	if r, ok := r.(interface{ GetName() string }); ok {
		add("name", r.GetName())
	}
	if r, ok := r.(interface{ GetVolumeId() string }); ok {
		add("volume", r.GetVolumeId())
	}
	if r, ok := r.(interface{ GetSourceVolumeId() string }); ok {
		add("volume", r.GetSourceVolumeId())
	}
	if r, ok := r.(interface{ GetSnapshotId() string }); ok {
		add("snapshot", r.GetSnapshotId())
	}
	if r, ok := r.(interface{ GetNodeId() string }); ok {
		add("node", r.GetNodeId())
	}
	return pairs
}

// text is a message in words, without the fields that CSI marks as secret. It is made when it is written only.
type text struct{ message any }

func (t text) LogValue() slog.Value {
	return slog.StringValue(protosanitizer.StripSecrets(t.message).String())
}
