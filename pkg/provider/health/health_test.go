package health_test

import (
	"context"
	"errors"
	"io"
	"net/http"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/provider/health"
)

// source is a source with a changeable state.
type source struct {
	atomic.Pointer[[]health.Status]
}

func (s *source) now() []health.Status { return *s.Load() }

func (s *source) set(all ...health.Status) { s.Store(&all) }

// serve runs a server until the test ends, or until stop is called.
func serve(t *testing.T, cfg health.Config) (base string, stop func()) {
	t.Helper()
	if cfg.Address == "" {
		cfg.Address = "127.0.0.1:0"
	}
	s, err := health.Listen(t.Context(), cfg)
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	go func() { ended <- s.Run(ctx) }()
	var stopped atomic.Bool
	stop = func() {
		if stopped.Swap(true) {
			return
		}
		cancel()
		if err := <-ended; err != nil {
			t.Error(err)
		}
	}
	t.Cleanup(stop)
	return "http://" + s.Addr(), stop
}

func get(t *testing.T, url string) (status int, body string) {
	t.Helper()
	status, body, err := ask(t.Context(), url)
	if err != nil {
		t.Fatal(err)
	}
	return status, body
}

func ask(ctx context.Context, url string) (status int, body string, err error) {
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, url, nil)
	if err != nil {
		return 0, "", err
	}
	req.Close = true
	res, err := http.DefaultClient.Do(req)
	if err != nil {
		return 0, "", err
	}
	defer res.Body.Close()
	text, err := io.ReadAll(res.Body)
	return res.StatusCode, string(text), err
}

func TestAnswers(t *testing.T) {
	us := health.Status{Tenant: "us", Connected: true, Synced: true}
	eu := health.Status{Tenant: "eu", Err: errors.New("dial tcp:\n connection refused")}
	ap := health.Status{Tenant: "ap", Connected: true}
	warned := health.Status{Tenant: "us", Connected: true, Synced: true, Warnings: []string{`datacenter "DC-Nrod" not found`}}
	var s source
	base, _ := serve(t, health.Config{Source: s.now, Metrics: http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		_, _ = io.WriteString(w, "numbers")
	})})
	const failed = "[-]vcenter eu failed: not connected: dial tcp: connection refused\n"
	for _, tc := range []struct {
		name   string
		all    []health.Status
		path   string
		status int
		want   string
	}{
		{"all is well", []health.Status{us}, "/readyz", 200, "ok\n"},
		{"all is well, in detail", []health.Status{us}, "/readyz?verbose", 200, "[+]vcenter us ok\nreadyz check passed\n"},
		{"one is away", []health.Status{us, eu}, "/readyz", 500, "[+]vcenter us ok\n" + failed + "readyz check failed\n"},
		{"one is behind", []health.Status{ap}, "/readyz", 500, "[-]vcenter ap failed: inventory not in sync\nreadyz check failed\n"},
		{"the one that is well", []health.Status{us, eu}, "/readyz/us", 200, "ok\n"},
		{"the one that is away", []health.Status{us, eu}, "/readyz/eu", 500, failed + "readyz check failed\n"},
		{"one with a warning", []health.Status{warned}, "/readyz", 200, "[+]vcenter us ok\n[!]vcenter us: datacenter \"DC-Nrod\" not found\nreadyz check passed\n"},
		{"one that there is not", []health.Status{us}, "/readyz/nowhere", 404, "no such vcenter\n"},
		{"standby", nil, "/readyz", 200, "standby\n"},
		{"standby, in detail", nil, "/readyz?verbose", 200, "standby\n"},
		{"standby, one", nil, "/readyz/us", 200, "standby\n"},
		{"alive whatever becomes of vCenters", []health.Status{eu, ap}, "/healthz", 200, "ok\n"},
		{"metrics", []health.Status{eu}, "/metrics", 200, "numbers"},
		{"something else", []health.Status{us}, "/", 404, "404 page not found\n"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			s.set(tc.all...)
			if status, body := get(t, base+tc.path); status != tc.status || body != tc.want {
				t.Errorf("%d %q, want %d %q", status, body, tc.status, tc.want)
			}
		})
	}
}

func TestReadOnly(t *testing.T) {
	base, _ := serve(t, health.Config{Source: func() []health.Status { return nil }})
	for _, path := range []string{"/healthz", "/readyz", "/readyz/us"} {
		req, err := http.NewRequestWithContext(t.Context(), http.MethodPost, base+path, strings.NewReader("x"))
		if err != nil {
			t.Fatal(err)
		}
		res, err := http.DefaultClient.Do(req)
		if err != nil {
			t.Fatal(err)
		}
		_ = res.Body.Close()
		if res.StatusCode != http.StatusMethodNotAllowed {
			t.Errorf("POST %s: %s", path, res.Status)
		}
	}
	if status, _ := get(t, base+"/metrics"); status != http.StatusNotFound {
		t.Errorf("metrics that there are not: %d", status)
	}
	http.DefaultClient.CloseIdleConnections()
}

// Only loopback addresses are accepted.
func TestAddress(t *testing.T) {
	source := func() []health.Status { return nil }
	for _, tc := range []struct {
		address string
		ok      bool
	}{
		{"127.0.0.1:0", true},
		{"127.1.2.3:0", true},
		{"localhost:0", true},
		{"0.0.0.0:0", false},
		{":0", false},
		{"[::]:0", false},
		{"192.0.2.1:0", false},
		{"127.0.0.1", false},
	} {
		s, err := health.Listen(t.Context(), health.Config{Address: tc.address, Source: source})
		if (err == nil) != tc.ok {
			t.Errorf("%s: %v", tc.address, err)
		}
		if err != nil {
			if strings.HasSuffix(tc.address, ":0") && !errors.Is(err, health.ErrNotLoopback) {
				t.Errorf("%s: %v", tc.address, err)
			}
			continue
		}
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	}
	if _, err := health.Listen(t.Context(), health.Config{Address: "127.0.0.1:0"}); err == nil {
		t.Error("no source, and no error")
	}
}

// The shutdown waits for an open request, and then the address is free.
func TestStop(t *testing.T) {
	asked, let := make(chan struct{}), make(chan struct{})
	base, stop := serve(t, health.Config{Source: func() []health.Status {
		close(asked)
		<-let
		return []health.Status{{Tenant: "us", Connected: true, Synced: true}}
	}})
	answered := make(chan string, 1)
	go func() {
		_, body, err := ask(t.Context(), base+"/readyz")
		if err != nil {
			t.Error(err)
		}
		answered <- body
	}()
	<-asked
	stopped := make(chan struct{})
	go func() {
		defer close(stopped)
		stop()
	}()
	select {
	case <-stopped:
		t.Error("ended with a request under way")
	case <-time.After(50 * time.Millisecond):
	}
	close(let)
	if body := <-answered; body != "ok\n" {
		t.Errorf("answer %q", body)
	}
	<-stopped
	s, err := health.Listen(t.Context(), health.Config{Address: strings.TrimPrefix(base, "http://"), Source: func() []health.Status { return nil }})
	if err != nil {
		t.Fatal(err)
	}
	if err := s.Close(); err != nil {
		t.Error(err)
	}
}
