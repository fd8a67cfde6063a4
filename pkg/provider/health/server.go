package health

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"strings"
	"time"
)

const (
	// askTimeout bounds what a client takes to ask, answerTimeout all of a request: a probe gives up long before.
	askTimeout    = 5 * time.Second
	answerTimeout = 30 * time.Second
	// farewell is how long requests under way are waited for at the end.
	farewell = 5 * time.Second
)

// Config says what to serve and where.
type Config struct {
	// Address is host:port; port 0 is any that is free. The host is a loopback address or a name for one:
	// whoever reaches it may read it.
	Address string
	// Source returns the vCenters as they are now, none while the process does not lead. It is called from any goroutine
	// and must not block.
	Source func() []Status
	// Metrics serves /metrics; there is none when it is nil.
	Metrics http.Handler
	// Logger receives what goes wrong with connections; none when nil.
	Logger *slog.Logger
}

// ErrNotLoopback says that the address can be reached from elsewhere.
var ErrNotLoopback = errors.New("not a loopback address")

// Server is one HTTP server. Make it with [Listen] and give it a goroutine with [Server.Run].
type Server struct {
	listener net.Listener
	http     *http.Server
}

// Listen binds the address. Requests wait until Run is called; a Server that is not run has to be closed.
func Listen(ctx context.Context, cfg Config) (*Server, error) {
	if cfg.Source == nil {
		return nil, errors.New("health: source is nil")
	}
	if cfg.Logger == nil {
		cfg.Logger = slog.New(slog.DiscardHandler)
	}
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
			ReadHeaderTimeout: askTimeout,
			ReadTimeout:       askTimeout,
			WriteTimeout:      answerTimeout,
			IdleTimeout:       answerTimeout,
			MaxHeaderBytes:    1 << 14,
			ErrorLog:          slog.NewLogLogger(cfg.Logger.Handler(), slog.LevelDebug),
		},
	}, nil
}

// resolve returns the address to listen on, every name in it resolved: what was checked is what is listened on.
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

// Addr is the address that is listened on.
func (s *Server) Addr() string { return s.listener.Addr().String() }

// Run serves until ctx ends, lets requests under way end within seconds, and returns nil, or why it could not serve. It
// is called once.
func (s *Server) Run(ctx context.Context) error {
	failed := make(chan error, 1)
	go func() { failed <- s.http.Serve(s.listener) }()
	select {
	case err := <-failed:
		return fmt.Errorf("health: %w", err)
	case <-ctx.Done():
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), farewell)
	defer cancel()
	if err := s.http.Shutdown(ctx); err != nil {
		_ = s.http.Close() // the requests that did not end in time
	}
	<-failed
	return nil
}

// Close gives the address up. After Run it does nothing.
func (s *Server) Close() error {
	if err := s.listener.Close(); err != nil && !errors.Is(err, net.ErrClosed) {
		return fmt.Errorf("health: %w", err)
	}
	return nil
}

// standby is the answer of a process that follows no vCenter.
const standby = "standby\n"

// handler answers everything.
func (c Config) handler() http.Handler {
	mux := http.NewServeMux()
	mux.HandleFunc("GET /healthz", func(w http.ResponseWriter, _ *http.Request) { answer(w, http.StatusOK, "ok\n") })
	mux.HandleFunc("GET /readyz", func(w http.ResponseWriter, r *http.Request) { c.ready(w, r, c.Source()) })
	mux.HandleFunc("GET /readyz/{tenant}", func(w http.ResponseWriter, r *http.Request) {
		all := c.Source()
		if len(all) == 0 {
			answer(w, http.StatusOK, standby)
			return
		}
		for _, s := range all {
			if s.Tenant == r.PathValue("tenant") {
				c.ready(w, r, []Status{s})
				return
			}
		}
		answer(w, http.StatusNotFound, "no such vcenter\n")
	})
	if c.Metrics != nil {
		mux.Handle("GET /metrics", c.Metrics)
	}
	return mux
}

// ready answers for vCenters: shortly when all is well and nobody asked for more, as Kubernetes does.
func (c Config) ready(w http.ResponseWriter, r *http.Request, all []Status) {
	text, ready := report(all)
	_, verbose := r.URL.Query()["verbose"]
	switch {
	case !ready:
		answer(w, http.StatusInternalServerError, text+"readyz check failed\n")
	case len(all) == 0:
		answer(w, http.StatusOK, standby)
	case verbose:
		answer(w, http.StatusOK, text+"readyz check passed\n")
	default:
		answer(w, http.StatusOK, "ok\n")
	}
}

func answer(w http.ResponseWriter, status int, text string) {
	w.Header().Set("Content-Type", "text/plain; charset=utf-8")
	w.Header().Set("X-Content-Type-Options", "nosniff")
	w.Header().Set("Cache-Control", "no-cache")
	w.WriteHeader(status)
	_, _ = io.WriteString(w, text) // whoever asked may have gone
}

// Status is the state of one vCenter.
type Status struct {
	// Tenant is its name in the configuration.
	Tenant string
	// Connected says that there is a session that works, Synced that the inventory is complete and current.
	Connected, Synced bool
	// Err is why not, when it is known. It is told to whoever asks, so it must not hold a secret.
	Err error
}

// problem says what keeps the vCenter from being ready; nothing when it is.
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
		// One line for each vCenter, whatever the error.
		what += ": " + strings.Join(strings.Fields(s.Err.Error()), " ")
	}
	return what
}

// report lists vCenters as Kubernetes lists its checks, and whether all are ready.
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
	}
	return b.String(), ready
}
