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
	// shutdownTimeout is how long the shutdown waits for calls in progress.
	shutdownTimeout = 5 * time.Second
)

// Config is the configuration of a [Server].
type Config struct {
	// Endpoint is unix:///path. A socket that an earlier process left there is replaced; a socket that is served is an error.
	Endpoint string
	// Register adds the services.
	Register func(grpc.ServiceRegistrar)
	// Timeout bounds calls whose client sets no deadline; 0 for DefaultTimeout.
	Timeout time.Duration
	// Observe is called for every call that ended, with the method's short name, its gRPC code and its duration. It must be
	// safe for concurrent use and must not block. It may be nil.
	Observe func(method, code string, took time.Duration)
	// Logger receives calls; discarded when nil.
	Logger *slog.Logger
}

// Server is one gRPC server. Create it with [Listen] and call [Server.Run] in a goroutine.
type Server struct {
	listener net.Listener
	grpc     *grpc.Server
	path     string
}

// Listen creates the socket with access for the process's owner only, and its directory if needed, because a driver's directory
// below the kubelet's plugins is its own. Calls wait until Run is called; a Server that does not run must be closed.
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
	if err := removeStaleSocket(ctx, path); err != nil {
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

// removeStaleSocket removes a socket that no process serves, and nothing else.
func removeStaleSocket(ctx context.Context, path string) error {
	info, err := os.Lstat(path)
	switch {
	case errors.Is(err, os.ErrNotExist):
		return nil
	case err != nil:
		return err
	case info.Mode().Type() != os.ModeSocket:
		return errors.New("the path exists and is not a socket")
	}
	d := net.Dialer{Timeout: time.Second}
	if c, err := d.DialContext(ctx, "unix", path); err == nil {
		_ = c.Close()
		return errors.New("another process serves it")
	}
	return os.Remove(path)
}

// Path returns the path of the socket.
func (s *Server) Path() string { return s.path }

// Run serves until ctx ends, waits some seconds for calls in progress, removes the socket, and returns nil, or why it could not
// serve. It must be called once.
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
	case <-time.After(shutdownTimeout):
		s.grpc.Stop() // cancels the calls and ends GracefulStop
		<-stopped
	}
	<-failed
	return nil
}

// Close releases the socket. After Run it does nothing.
func (s *Server) Close() { s.grpc.Stop(); _ = s.listener.Close() }

// maxPath is the maximum length of a unix socket's path: 108 bytes with the final zero on Linux, 104 on macOS.
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
		return "", fmt.Errorf("endpoint %q: the path has %d bytes, and a unix socket's path at most %d: use a shorter one", endpoint, len(path), maxPath)
	}
	return path, nil
}

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

// bounded sets a timeout for calls without a deadline.
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

// recovered converts a panic to the failure of one call.
func recovered(log *slog.Logger) grpc.UnaryServerInterceptor {
	return func(ctx context.Context, r any, info *grpc.UnaryServerInfo, next grpc.UnaryHandler) (answer any, err error) {
		defer func() {
			if p := recover(); p != nil {
				method := path.Base(info.FullMethod)
				log.Error("call panicked", "method", method, "panic", fmt.Sprint(p), "stack", string(debug.Stack()))
				answer, err = nil, status.Errorf(codes.Internal, "%s: bug in the driver, see its log for the stack: %v", method, p)
			}
		}()
		return next(ctx, r)
	}
}

// logged logs a call when it ends: reads at Debug, changes at Info, and failures at Warn or Error.
func logged(log *slog.Logger) grpc.UnaryServerInterceptor {
	return func(ctx context.Context, r any, info *grpc.UnaryServerInfo, next grpc.UnaryHandler) (any, error) {
		method := path.Base(info.FullMethod)
		log.Debug("call began", "method", method, "request", redacted{r})
		began := time.Now()
		answer, err := next(ctx, r)
		// Ordinary pairs, because klog's handler drops the attributes of With.
		pairs := slices.Concat([]any{"method", method}, subject(r), []any{"seconds", time.Since(began).Seconds()})
		switch code := status.Code(err); {
		case err == nil && readOnly(method):
			log.Debug("call done", append(pairs, "answer", redacted{answer})...)
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

// readOnly reports whether a method only reads.
func readOnly(method string) bool {
	return strings.Contains(method, "Get") || strings.HasPrefix(method, "List") || strings.HasPrefix(method, "Validate") || method == "Probe"
}

// subject returns the ids in a request.
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

// redacted formats a message without the fields that CSI marks as secret, and only if it is logged.
type redacted struct{ message any }

func (t redacted) LogValue() slog.Value {
	return slog.StringValue(protosanitizer.StripSecrets(t.message).String())
}
