package vcenter_test

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/provider/vcenter"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/sim/gate"
)

// Each kind of failure of a vCenter is noticed in time, does not affect other vCenters, and ends as soon as its cause, with one
// session.
func TestOutages(t *testing.T) {
	const callTimeout = shortCall
	for _, tc := range []struct {
		name string
		rule gate.Rule
		want error // besides ErrNotConnected
	}{
		{"down", gate.Rule{Action: gate.Outage{}}, nil},
		{"connections reset", gate.Rule{Action: gate.Refuse{}, Match: gate.Match{Client: agent}}, nil},
		{"answers cut", gate.Rule{Action: gate.Reset{Bytes: 1}}, nil},
		{"503", gate.Rule{Action: gate.HTTPStatus{Code: 503}}, nil},
		{"hung", gate.Rule{Action: gate.Hang{}}, context.DeadlineExceeded},
		{"black hole", gate.Rule{Action: gate.BlackHole{}}, context.DeadlineExceeded},
		{"slow: far more than a call timeout a call", gate.Rule{Action: gate.Latency{Delay: time.Minute}}, context.DeadlineExceeded},
	} {
		t.Run(tc.name, func(t *testing.T) {
			t.Parallel()
			v, other := start(t), start(t)
			cfg := v.config()
			cfg.CallTimeout = callTimeout
			c, stop := run(t, cfg)
			healthy, _ := run(t, other.config())
			connect(t, c)
			connect(t, healthy)
			if err := categories(c, t.Context()); err != nil {
				t.Fatal(err)
			}

			heal := v.rule(t, tc.rule)
			var met error
			for deadline := time.Now().Add(2 * callTimeout); time.Now().Before(deadline); {
				began := time.Now()
				if err := now(c, t.Context()); err == nil {
					t.Fatal("no error")
				} else if met == nil {
					met = err
				}
				if d := time.Since(began); d > callTimeout+5*time.Second {
					t.Errorf("a call took %s", d)
				}
				if c.State().Connected {
					t.Errorf("connected, says the state")
				}
				began = time.Now()
				if err := now(healthy, t.Context()); err != nil {
					t.Errorf("the other vCenter: %v", err)
				}
				if d := time.Since(began); d > 5*time.Second {
					t.Errorf("a call to the other vCenter took %s", d)
				}
			}
			if tc.want != nil && !errors.Is(met, tc.want) {
				t.Errorf("error %v, want %v", met, tc.want)
			}
			if err := now(c, t.Context()); !errors.Is(err, vcenter.ErrNotConnected) {
				t.Errorf("error %v, want not connected", err)
			}

			heal()
			began := time.Now()
			connect(t, c)
			if d := time.Since(began); d > callTimeout+10*time.Second {
				t.Errorf("came back after %s", d)
			}
			if err := now(c, t.Context()); err != nil {
				t.Error(err)
			}
			if err := categories(c, t.Context()); err != nil {
				t.Error(err)
			}
			if soap, rest := v.open(); len(soap) != 1 || len(rest) != 1 {
				t.Errorf("sessions %v %v, want one each", soap, rest)
			}
			stop()
			if soap, rest := v.open(); len(soap)+len(rest) != 0 {
				t.Errorf("sessions left: %v %v", soap, rest)
			}
		})
	}
}

// With the times of production, too, a client reconnects within seconds after a long outage.
func TestComesBackSoon(t *testing.T) {
	v := start(t)
	cfg := v.config()
	cfg.Retry = vcenter.Backoff{}
	c, _ := run(t, cfg)
	connect(t, c)
	v.gate(t, gate.Down)
	if err := now(c, t.Context()); err == nil {
		t.Error("no error")
	}
	time.Sleep(5 * time.Second) // a growing back-off would be at 4 s to 8 s now
	v.gate(t, gate.Up)
	began := time.Now()
	connect(t, c)
	if d := time.Since(began); d > 5*time.Second {
		t.Errorf("came back after %s", d)
	}
	if all, failed := v.calls("Login"); all != 1 || failed != 0 {
		t.Errorf("%d logins, %d failed; the session outlived the outage", all, failed)
	}
	if n := c.State().Reconnects; n != 1 {
		t.Errorf("%d reconnects", n)
	}
}

// A failure of REST alone does not affect SOAP.
func TestRESTDownOnly(t *testing.T) {
	for _, tc := range []struct {
		name   string
		action gate.Action
	}{
		{"503", gate.HTTPStatus{Code: 503}},
		{"service unavailable", gate.RESTError{Type: "SERVICE_UNAVAILABLE"}},
		{"hung", gate.Hang{}},
		{"cut", gate.Outage{}},
		{"answers cut", gate.Reset{Bytes: 1}},
	} {
		t.Run(tc.name, func(t *testing.T) {
			t.Parallel()
			v := start(t)
			cfg := v.config()
			cfg.CallTimeout = shortCall
			cfg.FaultRetry = cfg.Retry
			states := make(chan vcenter.State, 16)
			cfg.OnState = func(s vcenter.State) { states <- s }
			c, stop := run(t, cfg)
			before := connect(t, c)
			for s := <-states; !s.Connected; s = <-states { // on a busy machine the first login may take too long
			}
			heal := v.rule(t, gate.Rule{Match: gate.Match{Transport: gate.REST}, Action: tc.action})
			for range 3 {
				if err := categories(c, t.Context()); err == nil || errors.Is(err, vcenter.ErrNotConnected) {
					t.Errorf("error %v", err)
				}
				if err := now(c, t.Context()); err != nil {
					t.Errorf("SOAP: %v", err)
				}
			}
			heal()
			eventually(t, "REST works", func() bool { return categories(c, t.Context()) == nil })
			select {
			case s := <-states:
				t.Errorf("the connection's state became %+v", s)
			default:
			}
			if s := connect(t, c); s != before {
				t.Error("the SOAP session is another one")
			}
			stop()
			if soap, _ := v.open(); len(soap) != 0 {
				t.Errorf("sessions left: %v", soap)
			}
		})
	}
}
