package gate_test

import (
	"context"
	"errors"
	"io"
	"net"
	"net/http"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/sim/gate"
)

// TestCutCalls: the errors that clients get for calls without an answer.
func TestCutCalls(t *testing.T) {
	for _, tc := range []struct {
		action gate.Action
		want   error
	}{
		{gate.Outage{}, io.EOF},
		{gate.Refuse{}, syscall.ECONNRESET},
	} {
		f := open(t, nil)
		f.add(t, gate.Rule{Match: gate.Match{Client: "tester"}, Action: tc.action})
		if _, err := f.post(t.Context(), "/sdk"); !errors.Is(err, tc.want) {
			t.Errorf("%T: %v", tc.action, err)
		}
		res, err := f.client.Get("https://" + f.Addr() + "/silent")
		if err != nil {
			t.Errorf("%T, another client: %v", tc.action, err)
			continue
		}
		res.Body.Close()
		soon(t, "the call is recorded as cut", func() bool {
			return slices.ContainsFunc(f.Recent(), func(c gate.Call) bool { return c.Method == "CurrentTime" && c.Hit && c.Failed() })
		})
	}
}

func TestRefuseNewConnections(t *testing.T) {
	f := open(t, nil)
	if _, err := f.post(t.Context(), "/sdk"); err != nil {
		t.Fatal(err)
	}
	id := f.add(t, gate.Rule{Action: gate.Refuse{}})
	if _, err := f.post(t.Context(), "/sdk"); err != nil {
		t.Errorf("a connection that is open: %v", err)
	}
	f.client.CloseIdleConnections()
	if _, err := f.post(t.Context(), "/sdk"); !errors.Is(err, syscall.ECONNRESET) && !errors.Is(err, io.EOF) {
		t.Errorf("a new connection: %v", err)
	}
	if s := f.status(t, id); s.Hits == 0 {
		t.Errorf("%+v", s)
	}
	f.remove(t, id)
	if _, err := f.post(t.Context(), "/sdk"); err != nil {
		t.Error(err)
	}
}

func TestOutageStopsListening(t *testing.T) {
	f := open(t, nil)
	g := group(t)
	failed := make(chan error, 1)
	g.Go(func() {
		_, err := f.post(t.Context(), "/wait")
		failed <- err
	})
	<-f.backend.entered
	id := f.add(t, gate.Rule{Action: gate.Outage{}})
	if err := <-failed; err == nil {
		t.Error("a call under way was answered")
	}
	close(f.backend.release)
	if _, err := net.Dial("tcp", f.Addr()); !errors.Is(err, syscall.ECONNREFUSED) {
		t.Errorf("err = %v", err)
	}
	// The mode has no say while the rule is in force.
	f.set(t, gate.Mode{State: gate.Down})
	f.set(t, gate.Mode{State: gate.Up})
	if _, err := net.Dial("tcp", f.Addr()); !errors.Is(err, syscall.ECONNREFUSED) {
		t.Errorf("err = %v", err)
	}
	f.remove(t, id)
	if _, err := f.post(t.Context(), "/sdk"); err != nil {
		t.Error(err)
	}
	// It returns at the end of a window.
	f.add(t, gate.Rule{Action: gate.Outage{}, Window: gate.Window{From: 5 * time.Millisecond, Until: 50 * time.Millisecond}})
	soon(t, "the gate goes down", func() bool { _, err := f.post(t.Context(), "/sdk"); drain(f); return err != nil })
	soon(t, "the gate comes back", func() bool { _, err := f.post(t.Context(), "/sdk"); drain(f); return err == nil })
}

// drain empties the record of calls that reached the backend.
func drain(f *front) {
	for {
		select {
		case <-f.backend.calls:
		default:
			return
		}
	}
}

func TestBlackHole(t *testing.T) {
	f := open(t, nil)
	g := group(t)
	if _, err := f.post(t.Context(), "/sdk"); err != nil {
		t.Fatal(err)
	}
	<-f.backend.calls
	id := f.add(t, gate.Rule{Action: gate.BlackHole{}})
	results := make(chan error, 2)
	fresh := f.newClient(t)
	for _, c := range []*http.Client{f.client, fresh} { // one is connected, the other never gets that far
		g.Go(func() {
			// Not a GET: those are tried again by net/http.
			res, err := c.Post("https://"+f.Addr()+"/sdk", "text/xml", strings.NewReader(envelope))
			if err == nil {
				res.Body.Close()
			}
			results <- err
		})
	}
	soon(t, "both are in the hole", func() bool { return f.status(t, id).Hits == 2 })
	select {
	case err := <-results:
		t.Fatalf("the hole spoke: %v", err)
	case <-time.After(30 * time.Millisecond):
	}
	f.remove(t, id)
	for range 2 {
		if err := <-results; err == nil {
			t.Error("what went into the hole came out again")
		}
	}
	select {
	case <-f.backend.calls:
		t.Error("a call came through the hole")
	default:
	}
	// A gate with connections in a hole closes all the same.
	f.add(t, gate.Rule{Action: gate.BlackHole{}})
	ctx, cancel := context.WithCancel(t.Context())
	t.Cleanup(cancel)
	r, _ := http.NewRequestWithContext(ctx, http.MethodGet, "https://"+f.Addr()+"/sdk", nil)
	g.Go(func() {
		if res, err := f.newClient(t).Do(r); err == nil {
			res.Body.Close()
		}
	})
	soon(t, "there is one more in the hole", func() bool { return f.Rules()[0].Hits == 1 })
}
