package health

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"slices"
	"strings"
	"time"
)

const (
	// readTimeout bounds the reading of a request, answerTimeout the whole exchange: a probe gives up long before.
	readTimeout  = 5 * time.Second
	writeTimeout = 30 * time.Second
	// shutdownTimeout is how long the shutdown waits for open requests.
	shutdownTimeout = 5 * time.Second
)

// Config is the configuration of a [Server].
type Config struct {
	// Address is host:port; port 0 selects a free port. The host must be a loopback address or a name for one, because there
	// is no authentication.
	Address string
	// Source returns the current state of the vCenters, or none while the process does not lead. It must be safe for
	// concurrent use and must not block.
	Source func() []Status
	// Metrics serves /metrics; not found when nil.
	Metrics http.Handler
	// Logger receives connection errors; discarded when nil.
	Logger *slog.Logger
}

// ErrNotLoopback reports that other hosts can reach the address.
var ErrNotLoopback = errors.New("not a loopback address")

// Server is one HTTP server. Create it with [Listen] and call [Server.Run] in a goroutine.
type Server struct {
	listener net.Listener
	http     *http.Server
}

// Listen binds the address. Requests wait until Run is called; a Server that does not run must be closed.
func Listen(ctx context.Context, cfg Config) (*Server, error) {
	if cfg.Source == nil {
		return nil, errors.New("health: source is nil")
	}
	cfg.Logger = cmp.Or(cfg.Logger, slog.New(slog.DiscardHandler))
	address, err := cfg.resolve(ctx)
	if err != nil {
		return nil, fmt.Errorf("health: %q: %w", cfg.Address, err)
	}
	l, err := new(net.ListenConfig).Listen(ctx, "tcp", address)
	if err != nil {
		return nil, fmt.Errorf("health: %w", err)
	}
	return &Server{
		listener: l,
		http: &http.Server{
			Handler:           cfg.handler(),
			ReadHeaderTimeout: readTimeout,
			ReadTimeout:       readTimeout,
			WriteTimeout:      writeTimeout,
			IdleTimeout:       writeTimeout,
			MaxHeaderBytes:    1 << 14,
			ErrorLog:          slog.NewLogLogger(cfg.Logger.Handler(), slog.LevelDebug),
		},
	}, nil
}

// resolve returns the address with its host name resolved, so that the address that is checked is the one that is bound.
func (c Config) resolve(ctx context.Context) (string, error) {
	host, port, err := net.SplitHostPort(c.Address)
	if err != nil {
		return "", err
	}
	if host == "" {
		return "", fmt.Errorf("all addresses: %w", ErrNotLoopback)
	}
	ips, err := net.DefaultResolver.LookupIPAddr(ctx, host)
	if err != nil {
		return "", err
	}
	for _, ip := range ips {
		if !ip.IP.IsLoopback() {
			return "", fmt.Errorf("%s: %w", ip.IP, ErrNotLoopback)
		}
	}
	return net.JoinHostPort(ips[0].String(), port), nil
}

// Addr returns the address that the server listens on.
func (s *Server) Addr() string { return s.listener.Addr().String() }

// Run serves until ctx ends, waits some seconds for open requests, and returns nil, or why it could not serve. It must be
// called once.
func (s *Server) Run(ctx context.Context) error {
	failed := make(chan error, 1)
	go func() { failed <- s.http.Serve(s.listener) }()
	select {
	case err := <-failed:
		return fmt.Errorf("health: %w", err)
	case <-ctx.Done():
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), shutdownTimeout)
	defer cancel()
	if err := s.http.Shutdown(ctx); err != nil {
		_ = s.http.Close() // requests that did not end in time
	}
	<-failed
	return nil
}

// Close releases the address. After Run it does nothing.
func (s *Server) Close() error {
	if err := s.listener.Close(); err != nil && !errors.Is(err, net.ErrClosed) {
		return fmt.Errorf("health: %w", err)
	}
	return nil
}

// standby is the response of a process that watches no vCenter.
const standby = "standby\n"

func (c Config) handler() http.Handler {
	mux := http.NewServeMux()
	mux.HandleFunc("GET /healthz", func(w http.ResponseWriter, _ *http.Request) { respond(w, http.StatusOK, "ok\n") })
	mux.HandleFunc("GET /readyz", func(w http.ResponseWriter, r *http.Request) { c.ready(w, r, c.Source()) })
	mux.HandleFunc("GET /readyz/{tenant}", func(w http.ResponseWriter, r *http.Request) {
		all := c.Source()
		if len(all) == 0 {
			respond(w, http.StatusOK, standby)
			return
		}
		for _, s := range all {
			if s.Tenant == r.PathValue("tenant") {
				c.ready(w, r, []Status{s})
				return
			}
		}
		respond(w, http.StatusNotFound, "no such vcenter\n")
	})
	if c.Metrics != nil {
		mux.Handle("GET /metrics", c.Metrics)
	}
	return mux
}

// ready writes the state of vCenters: briefly if all are ready without a warning and ?verbose is not set, as Kubernetes does.
func (c Config) ready(w http.ResponseWriter, r *http.Request, all []Status) {
	text, ready := report(all)
	_, verbose := r.URL.Query()["verbose"]
	switch {
	case !ready:
		respond(w, http.StatusInternalServerError, text+"readyz check failed\n")
	case len(all) == 0:
		respond(w, http.StatusOK, standby)
	case verbose || slices.ContainsFunc(all, func(s Status) bool { return len(s.Warnings) > 0 }):
		respond(w, http.StatusOK, text+"readyz check passed\n")
	default:
		respond(w, http.StatusOK, "ok\n")
	}
}

func respond(w http.ResponseWriter, status int, text string) {
	w.Header().Set("Content-Type", "text/plain; charset=utf-8")
	w.Header().Set("X-Content-Type-Options", "nosniff")
	w.Header().Set("Cache-Control", "no-cache")
	w.WriteHeader(status)
	_, _ = io.WriteString(w, text) // the client may be gone
}

// Status is the state of one vCenter.
type Status struct {
	// Tenant is its name in the configuration.
	Tenant string
	// Connected reports that there is a working session, Synced that the inventory is complete and current.
	Connected, Synced bool
	// Err is why not, if known. It is part of responses, so it must not contain a secret.
	Err error
	// Warnings do not make it unready; each has a line in /readyz.
	Warnings []string
}

// problem returns why the vCenter is not ready, or "".
func (s Status) problem() string {
	var what string
	switch {
	case !s.Connected:
		what = "not connected"
	case !s.Synced:
		what = "inventory not in sync"
	default:
		return ""
	}
	if s.Err != nil {
		// One line per vCenter.
		what += ": " + strings.Join(strings.Fields(s.Err.Error()), " ")
	}
	return what
}

// report lists vCenters as Kubernetes lists its checks, and returns whether all are ready.
func report(all []Status) (text string, ready bool) {
	var b strings.Builder
	ready = true
	for _, s := range all {
		if p := s.problem(); p != "" {
			ready = false
			fmt.Fprintf(&b, "[-]vcenter %s failed: %s\n", s.Tenant, p)
		} else {
			fmt.Fprintf(&b, "[+]vcenter %s ok\n", s.Tenant)
		}
		for _, w := range s.Warnings {
			fmt.Fprintf(&b, "[!]vcenter %s: %s\n", s.Tenant, strings.Join(strings.Fields(w), " "))
		}
	}
	return b.String(), ready
}
