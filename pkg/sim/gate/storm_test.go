package gate_test

import (
	"context"
	"math/rand/v2"
	"net"
	"net/http"
	"testing"
	"time"

	"github.com/vsphere-sandbox/vsphere-sandbox/internal/cert"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/sim/gate"
)

// TestStorm: rules, modes and certificates change while clients call. Afterward a gate without rules answers, and Close returns.
func TestStorm(t *testing.T) {
	f := open(t, func(o *gate.Options) { o.Recent = 8 })
	f.backend.next = http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { _, _ = w.Write([]byte(envelope)) })
	pair, err := f.ca.Sign(cert.Leaf{CommonName: "renewed", IPs: []net.IP{net.IPv4(127, 0, 0, 1)}})
	if err != nil {
		t.Fatal(err)
	}
	ctx, stop := context.WithCancel(t.Context())
	defer stop()
	g := group(t)
	for range 6 {
		c := &front{Gate: f.Gate, backend: f.backend, ca: f.ca, client: f.newClient(t)}
		g.Go(func() {
			for ctx.Err() == nil {
				call, cancel := context.WithTimeout(ctx, time.Duration(20+rand.IntN(180))*time.Millisecond)
				_, _ = c.post(call, "/sdk")
				cancel()
			}
		})
	}
	actions := []gate.Action{
		gate.Outage{},
		gate.Refuse{},
		gate.BlackHole{},
		gate.Hang{},
		gate.Latency{Delay: 3 * time.Millisecond, Jitter: time.Millisecond},
		gate.HTTPStatus{Code: 500},
		gate.Reset{},
		gate.Fault{Type: "NotAuthenticated"},
		gate.RESTError{Type: "ERROR"},
	}
	matches := []gate.Match{{}, {Client: "tester"}, {Methods: []string{"CurrentTime"}, Object: gate.Object{Type: "ServiceInstance"}}}
	random := rand.New(rand.NewPCG(1, 2))
	var ids []gate.ID
	// It lasts until there was something of everything, on a busy machine, too.
	lacks := func() bool { c := f.Counters(); return c.Calls == 0 || c.Hits == 0 || c.Errors == 0 || c.Out == 0 }
	for began := time.Now(); time.Since(began) < 600*time.Millisecond || lacks(); {
		if time.Since(began) > time.Minute {
			t.Fatalf("%+v", f.Counters())
		}
		switch random.IntN(8) {
		case 0:
			f.set(t, []gate.Mode{{}, {State: gate.Hung}, {State: gate.Slow, Delay: time.Millisecond}, {State: gate.Down}}[random.IntN(4)])
		case 1:
			if err := f.SetCertificate(pair.TLS()); err != nil {
				t.Error(err)
			}
			f.CutConnections()
		case 2, 3, 4:
			r := gate.Rule{Action: actions[random.IntN(len(actions))], Match: matches[random.IntN(len(matches))], Probability: 0.5 + random.Float64()/2}
			if random.IntN(2) == 0 {
				r.Probability = 0
				r.Window = gate.Window{From: time.Duration(random.IntN(5)) * time.Millisecond, Until: 10 * time.Millisecond}
			}
			ids = append(ids, f.add(t, r))
		default:
			if len(ids) > 0 {
				i := random.IntN(len(ids))
				f.remove(t, ids[i])
				ids = append(ids[:i], ids[i+1:]...)
			}
			time.Sleep(time.Millisecond)
		}
		_, _, _ = f.Rules(), f.Recent(), f.Counters()
	}
	stop()
	g.Wait()
	if err := f.Clear(t.Context()); err != nil {
		t.Fatal(err)
	}
	f.set(t, gate.Mode{})
	if _, err := f.post(t.Context(), "/sdk"); err != nil {
		t.Error(err)
	}
	soon(t, "nothing is under way", func() bool { return f.Counters().InFlight == 0 })
}
