package gate_test

import (
	"context"
	"crypto/tls"
	"io"
	"net"
	"net/http"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/vsphere-sandbox/vsphere-sandbox/internal/cert"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/sim/gate"
)

// pipes is a listener in memory: time in it can be simulated.
type pipes struct {
	conns chan net.Conn
	once  sync.Once
	done  chan struct{}
}

func (p *pipes) Accept() (net.Conn, error) {
	select {
	case c := <-p.conns:
		return c, nil
	case <-p.done:
		return nil, net.ErrClosed
	}
}

func (p *pipes) Close() error {
	p.once.Do(func() { close(p.done) })
	return nil
}

func (p *pipes) Addr() net.Addr { return &net.TCPAddr{IP: net.IPv4(127, 0, 0, 1), Port: 443} }

func (p *pipes) dial(ctx context.Context, _, _ string) (net.Conn, error) {
	ours, theirs := net.Pipe()
	select {
	case p.conns <- theirs:
		return ours, nil
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}

// inMemory is a gate over pipes before a backend that echoes. Certificates are held against now: in a bubble it is the
// year 2000.
func inMemory(t *testing.T, ca *cert.CA, pair *cert.Pair, now time.Time) (*gate.Gate, func() error) {
	p := &pipes{conns: make(chan net.Conn), done: make(chan struct{})}
	g := gate.New(p, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { _, _ = io.Copy(w, r.Body) }), gate.Options{
		TLS: &tls.Config{Certificates: []tls.Certificate{pair.TLS()}, Time: func() time.Time { return now }},
	})
	transport := &http.Transport{DialContext: p.dial, TLSClientConfig: &tls.Config{RootCAs: ca.Pool(), Time: func() time.Time { return now }}}
	client := &http.Client{Transport: transport}
	t.Cleanup(func() {
		transport.CloseIdleConnections()
		if err := g.Close(context.WithoutCancel(t.Context())); err != nil {
			t.Error(err)
		}
	})
	return g, func() error {
		res, err := client.Post("https://127.0.0.1/sdk", "text/xml", strings.NewReader(envelope))
		if err != nil {
			return err
		}
		defer res.Body.Close()
		_, err = io.ReadAll(res.Body)
		return err
	}
}

func simulated(t *testing.T, test func(t *testing.T, g *gate.Gate, call func() error)) {
	ca, err := cert.NewCA("test")
	if err != nil {
		t.Fatal(err)
	}
	pair, err := ca.Sign(cert.Leaf{CommonName: "vc", IPs: []net.IP{net.IPv4(127, 0, 0, 1)}})
	if err != nil {
		t.Fatal(err)
	}
	now := time.Now()
	synctest.Test(t, func(t *testing.T) {
		g, call := inMemory(t, ca, pair, now)
		test(t, g, call)
	})
}

func add(t *testing.T, g *gate.Gate, r gate.Rule) {
	t.Helper()
	if _, err := g.Add(r); err != nil {
		t.Fatal(err)
	}
}

func TestWindow(t *testing.T) {
	simulated(t, func(t *testing.T, g *gate.Gate, call func() error) {
		add(t, g, gate.Rule{Action: gate.Hang{}, Window: gate.Window{From: time.Minute, Until: 3 * time.Minute}})
		begin := time.Now()
		var stages []gate.Stage
		note := func() { stages = append(stages, g.Rules()[0].State) }
		note()
		if err := call(); err != nil || time.Since(begin) > time.Second {
			t.Errorf("before: %v after %s", err, time.Since(begin))
		}
		time.Sleep(90 * time.Second) // after two minutes the connection would be closed, in the moment of the call
		note()
		if err := call(); err != nil || time.Since(begin) != 3*time.Minute {
			t.Errorf("in the window: %v after %s", err, time.Since(begin))
		}
		note()
		if err := call(); err != nil || time.Since(begin) != 3*time.Minute {
			t.Errorf("after it: %v after %s", err, time.Since(begin))
		}
		if diff := cmp.Diff([]gate.Stage{gate.Waiting, gate.Active, gate.Ended}, stages); diff != "" {
			t.Errorf("-want +got:\n%s", diff)
		}
	})
}

// A rule that is removed before its window leaves nothing behind, nor does one that is there at the end of the gate.
func TestWindowThatNeverOpens(t *testing.T) {
	simulated(t, func(t *testing.T, g *gate.Gate, call func() error) {
		add(t, g, gate.Rule{Action: gate.Outage{}, Window: gate.Window{From: time.Hour}})
		if err := g.Clear(t.Context()); err != nil {
			t.Fatal(err)
		}
		time.Sleep(2 * time.Hour)
		if err := call(); err != nil {
			t.Error(err)
		}
		add(t, g, gate.Rule{Action: gate.Hang{}, Window: gate.Window{From: time.Hour}})
		add(t, g, gate.Rule{Action: gate.Hang{}, Window: gate.Window{Until: time.Hour}})
	})
}

func TestLatencyAndJitter(t *testing.T) {
	simulated(t, func(t *testing.T, g *gate.Gate, call func() error) {
		took := func() time.Duration {
			start := time.Now()
			if err := call(); err != nil {
				t.Error(err)
			}
			return time.Since(start)
		}
		draw := func() (all []time.Duration) {
			add(t, g, gate.Rule{Seed: 3, Action: gate.Latency{Delay: time.Second, Jitter: 300 * time.Millisecond}})
			for range 20 {
				all = append(all, took())
			}
			if err := g.Clear(t.Context()); err != nil {
				t.Fatal(err)
			}
			return all
		}
		first := draw()
		low, high := first[0], first[0]
		for _, d := range first {
			low, high = min(low, d), max(high, d)
		}
		if low < 700*time.Millisecond || low > 900*time.Millisecond || high > 1300*time.Millisecond || high < 1100*time.Millisecond {
			t.Errorf("from %s to %s", low, high)
		}
		if diff := cmp.Diff(first, draw()); diff != "" {
			t.Errorf("the same seed draws differently:\n%s", diff)
		}
		// Delays add up.
		add(t, g, gate.Rule{Action: gate.Latency{Delay: time.Second}})
		add(t, g, gate.Rule{Action: gate.Latency{Delay: time.Minute}})
		if d := took(); d != 61*time.Second {
			t.Errorf("both took %s", d)
		}
	})
}

func TestProbability(t *testing.T) {
	simulated(t, func(t *testing.T, g *gate.Gate, call func() error) {
		hits := func(seed uint64) string {
			add(t, g, gate.Rule{Probability: 0.3, Seed: seed, Action: gate.Latency{Delay: time.Second}})
			var b strings.Builder
			for range 200 {
				start := time.Now()
				if err := call(); err != nil {
					t.Fatal(err)
				}
				b.WriteByte("-x"[min(1, int(time.Since(start)/time.Second))])
			}
			if s := g.Rules()[0]; s.Matched != 200 || s.Hits != int64(strings.Count(b.String(), "x")) {
				t.Errorf("%+v", s)
			}
			if err := g.Clear(t.Context()); err != nil {
				t.Fatal(err)
			}
			return b.String()
		}
		one := hits(1)
		if n := strings.Count(one, "x"); n < 40 || n > 80 {
			t.Errorf("%d of 200 were hit", n)
		}
		if hits(1) != one || hits(2) == one {
			t.Error("the seed does not decide")
		}
	})
}
