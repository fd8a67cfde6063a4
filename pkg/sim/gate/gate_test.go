package gate_test

import (
	"context"
	"crypto/tls"
	"errors"
	"io"
	"net"
	"net/http"
	"os"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/vsphere-sandbox/vsphere-sandbox/internal/cert"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/sim/gate"
)

// backend is a simulator that answers with the body it got; /wait answers when released, as a long poll does.
type backend struct {
	entered chan struct{}
	release chan struct{}
	calls   chan struct{}
	next    http.Handler // instead of all that, if set
}

func newBackend() *backend {
	return &backend{entered: make(chan struct{}, 16), release: make(chan struct{}), calls: make(chan struct{}, 64)}
}

func (b *backend) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if b.next != nil {
		b.next.ServeHTTP(w, r)
		return
	}
	b.calls <- struct{}{}
	switch r.URL.Path {
	case "/wait":
		b.entered <- struct{}{}
		<-b.release
	case "/silent":
		return
	case "/fault":
		w.WriteHeader(http.StatusInternalServerError)
	case "/panic":
		panic("simulator")
	}
	_, _ = io.Copy(w, r.Body)
}

type front struct {
	*gate.Gate
	backend *backend
	client  *http.Client
	ca      *cert.CA
}

func open(t *testing.T, edit func(*gate.Options)) *front {
	t.Helper()
	ca, err := cert.NewCA("test")
	if err != nil {
		t.Fatal(err)
	}
	pair, err := ca.Sign(cert.Leaf{CommonName: "vc", IPs: []net.IP{net.IPv4(127, 0, 0, 1)}})
	if err != nil {
		t.Fatal(err)
	}
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	opts := gate.Options{TLS: &tls.Config{Certificates: []tls.Certificate{pair.TLS()}}}
	if edit != nil {
		edit(&opts)
	}
	f := &front{backend: newBackend(), ca: ca}
	f.Gate = gate.New(l, f.backend, opts)
	f.client = f.newClient(t)
	t.Cleanup(func() {
		ctx, cancel := context.WithTimeout(context.WithoutCancel(t.Context()), 30*time.Second)
		defer cancel()
		if err := f.Close(ctx); err != nil {
			t.Error(err)
		}
	})
	return f
}

func (f *front) newClient(t *testing.T) *http.Client {
	transport := &http.Transport{TLSClientConfig: &tls.Config{RootCAs: f.ca.Pool()}, ForceAttemptHTTP2: true}
	t.Cleanup(transport.CloseIdleConnections)
	return &http.Client{Transport: transport}
}

func (f *front) set(t *testing.T, m gate.Mode) {
	t.Helper()
	if err := f.Set(t.Context(), m); err != nil {
		t.Fatal(err)
	}
}

const envelope = `<?xml version="1.0"?><soapenv:Envelope xmlns:soapenv="http://schemas.xmlsoap.org/soap/envelope/">` +
	`<soapenv:Header><operationID>x</operationID></soapenv:Header>` +
	`<soapenv:Body><CurrentTime xmlns="urn:vim25"><_this type="ServiceInstance">ServiceInstance</_this></CurrentTime></soapenv:Body></soapenv:Envelope>`

// post sends a SOAP call.
func (f *front) post(ctx context.Context, path string) (string, error) {
	r, err := http.NewRequestWithContext(ctx, http.MethodPost, "https://"+f.Addr()+path, strings.NewReader(envelope))
	if err != nil {
		return "", err
	}
	r.Header.Set("Content-Type", "text/xml; charset=utf-8")
	r.Header.Set("User-Agent", "tester/1")
	res, err := f.client.Do(r)
	if err != nil {
		return "", err
	}
	defer res.Body.Close()
	body, err := io.ReadAll(res.Body)
	return string(body), err
}

func TestUpPassesEverything(t *testing.T) {
	f := open(t, nil)
	body, err := f.post(t.Context(), "/sdk")
	if err != nil {
		t.Fatal(err)
	}
	if body != envelope {
		t.Errorf("the simulator got %q", body)
	}
	res, err := f.client.Get("https://" + f.Addr() + "/silent")
	if err != nil {
		t.Fatal(err)
	}
	res.Body.Close()
	if res.ProtoMajor != 1 || res.StatusCode != http.StatusOK {
		t.Errorf("%s with status %d, want HTTP/1.1 and 200", res.Proto, res.StatusCode)
	}
}

func TestDownCutsAndComesBackOnTheSameAddress(t *testing.T) {
	f := open(t, nil)
	addr := f.Addr()
	failed := make(chan error)
	go func() {
		_, err := f.post(t.Context(), "/wait")
		failed <- err
	}()
	<-f.backend.entered
	f.set(t, gate.Mode{State: gate.Down})
	if err := <-failed; err == nil {
		t.Error("a long poll was answered by a gate that went down")
	}
	if _, err := net.Dial("tcp", addr); err == nil {
		t.Error("a gate that is down accepts connections")
	}
	f.set(t, gate.Mode{State: gate.Up})
	close(f.backend.release)
	if _, err := f.post(t.Context(), "/sdk"); err != nil {
		t.Errorf("after the outage: %v", err)
	}
	if f.Addr() != addr {
		t.Errorf("address is %s, was %s", f.Addr(), addr)
	}
}

func TestUpFailsClearlyWhenTheAddressIsTaken(t *testing.T) {
	f := open(t, nil)
	f.set(t, gate.Mode{State: gate.Down})
	f.GiveBack() // otherwise the test could not take it
	thief, err := net.Listen("tcp", f.Addr())
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), 100*time.Millisecond)
	defer cancel()
	err = f.Set(ctx, gate.Mode{State: gate.Up})
	if err == nil || !strings.Contains(err.Error(), f.Addr()) || !strings.Contains(err.Error(), "in use") {
		t.Errorf("err = %v, want the address and that it is in use", err)
	}
	if f.Mode().State != gate.Down {
		t.Errorf("mode is %s", f.Mode())
	}
	// Given back while the gate still tries.
	time.AfterFunc(100*time.Millisecond, func() { thief.Close() })
	f.set(t, gate.Mode{State: gate.Up})
	if _, err := f.post(t.Context(), "/sdk"); err != nil {
		t.Error(err)
	}
}

func TestSlowDelaysEachCall(t *testing.T) {
	f := open(t, nil)
	f.set(t, gate.Mode{State: gate.Slow, Delay: 80 * time.Millisecond})
	begin := time.Now()
	if _, err := f.post(t.Context(), "/sdk"); err != nil {
		t.Fatal(err)
	}
	if d := time.Since(begin); d < 80*time.Millisecond {
		t.Errorf("answered after %s", d)
	}
	// A change of mode ends the delay of calls under way.
	f.set(t, gate.Mode{State: gate.Slow, Delay: time.Hour})
	done := make(chan error)
	go func() {
		_, err := f.post(t.Context(), "/sdk")
		done <- err
	}()
	time.AfterFunc(50*time.Millisecond, func() { _ = f.Set(context.Background(), gate.Mode{State: gate.Up}) })
	if err := <-done; err != nil {
		t.Error(err)
	}
}

func TestHungHoldsBackNewCallsAndAnswersUnderWay(t *testing.T) {
	f := open(t, nil)
	results := make(chan error, 2)
	call := func(path string) {
		_, err := f.post(t.Context(), path)
		results <- err
	}
	go call("/wait")
	<-f.backend.entered
	<-f.backend.calls
	f.set(t, gate.Mode{State: gate.Hung})
	close(f.backend.release)
	go call("/sdk")
	select {
	case err := <-results:
		t.Fatalf("a call ended while hung: %v", err)
	case <-f.backend.calls:
		t.Fatal("a call reached the simulator while hung")
	case <-time.After(100 * time.Millisecond):
	}
	f.set(t, gate.Mode{State: gate.Up})
	for range 2 {
		if err := <-results; err != nil {
			t.Error(err)
		}
	}
}

func TestHungFreesDeadClients(t *testing.T) {
	ended := make(chan gate.Call, 1)
	f := open(t, func(o *gate.Options) { o.OnCall = func(c gate.Call) { ended <- c } })
	f.set(t, gate.Mode{State: gate.Hung})
	ctx, cancel := context.WithTimeout(t.Context(), 3*time.Second) // in which the call has come in
	defer cancel()
	if _, err := f.post(ctx, "/sdk"); !errors.Is(err, context.DeadlineExceeded) {
		t.Fatalf("err = %v", err)
	}
	select {
	case c := <-ended:
		if c.Status != 0 || !c.Failed() {
			t.Errorf("call %+v, want no status", c)
		}
	case <-time.After(30 * time.Second):
		t.Error("the call of a client that is gone is still held")
	}
}

func TestStats(t *testing.T) {
	f := open(t, nil)
	for range 3 {
		if _, err := f.post(t.Context(), "/sdk"); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := f.post(t.Context(), "/fault"); err != nil {
		t.Fatal(err)
	}
	if body, err := f.post(t.Context(), "/panic"); err != nil || !strings.Contains(body, `xsi:type="SystemError"`) {
		t.Errorf("a panic of the simulator was answered with %q, %v", body, err)
	}
	for _, id := range []string{"1", "2"} {
		r, _ := http.NewRequestWithContext(t.Context(), http.MethodGet, "https://"+f.Addr()+"/rest/com/vmware/cis/tagging/tag/id:urn:"+id, nil)
		r.Header.Set("User-Agent", "tagger")
		res, err := f.client.Do(r)
		if err != nil {
			t.Fatal(err)
		}
		res.Body.Close()
	}
	want := []gate.Stat{
		{Method: "CurrentTime", Client: "tester/1", Calls: 5, Errors: 2, LastError: "SystemError"},
		{Method: "GET /rest/com/vmware/cis/tagging/tag/{id}", Client: "tagger", Calls: 2},
	}
	// A call is counted after its last byte: the newest may be a moment late.
	var got []gate.Stat
	uncounted := cmp.Options{cmpopts.IgnoreFields(gate.Stat{}, "Latency", "In", "Out", "Last"), cmpopts.IgnoreUnexported(gate.Stat{})}
	for deadline := time.Now().Add(30 * time.Second); time.Now().Before(deadline); time.Sleep(time.Millisecond) {
		if got = f.Stats(); cmp.Equal(want, got, uncounted) {
			break
		}
	}
	if diff := cmp.Diff(want, got, uncounted); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
	for _, s := range got {
		if s.Latency <= 0 {
			t.Errorf("%s: latency %s", s.Method, s.Latency)
		}
		if ago := time.Since(s.Last); ago < 0 || ago > time.Minute {
			t.Errorf("%s: the last was %s ago", s.Method, ago)
		}
	}
}

func TestOnModeIsReportedInOrder(t *testing.T) {
	var mu sync.Mutex
	var seen []string
	f := open(t, func(o *gate.Options) {
		o.OnMode = func(from, to gate.Mode) {
			mu.Lock()
			defer mu.Unlock()
			seen = append(seen, from.String()+" → "+to.String())
		}
	})
	for _, m := range []gate.Mode{
		{State: gate.Slow, Delay: time.Second}, {State: gate.Slow, Delay: time.Second}, {State: gate.Down}, {State: gate.Hung}, {},
	} {
		f.set(t, m)
	}
	want := []string{"up → slow (1s)", "slow (1s) → down", "down → hung", "hung → up"}
	if diff := cmp.Diff(want, seen); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
}

func TestSetRefusesNonsense(t *testing.T) {
	f := open(t, nil)
	for _, m := range []gate.Mode{
		{State: "asleep"}, {State: gate.Slow}, {State: gate.Slow, Delay: -1}, {State: gate.Up, Delay: 1}, {Delay: -1},
	} {
		if err := f.Set(t.Context(), m); err == nil {
			t.Errorf("%+v was accepted", m)
		}
	}
	if f.Mode() != (gate.Mode{State: gate.Up}) {
		t.Errorf("mode is %s", f.Mode())
	}
}

func TestCloseWaitsForCallsInside(t *testing.T) {
	f := open(t, nil)
	go func() { _, _ = f.post(t.Context(), "/wait") }()
	<-f.backend.entered
	ctx, cancel := context.WithTimeout(t.Context(), 20*time.Millisecond)
	defer cancel()
	if err := f.Close(ctx); !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("err = %v with a call inside", err)
	}
	close(f.backend.release)
	if err := f.Close(t.Context()); err != nil {
		t.Error(err)
	}
	if err := f.Set(t.Context(), gate.Mode{State: gate.Hung}); !errors.Is(err, net.ErrClosed) {
		t.Errorf("Set on a closed gate: %v", err)
	}
}

func TestClientThatSpeaksNoTLS(t *testing.T) {
	f := open(t, nil)
	c, err := net.Dial("tcp", f.Addr())
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	if _, err := c.Write([]byte("hello\r\n\r\n")); err != nil {
		t.Fatal(err)
	}
	_ = c.SetReadDeadline(time.Now().Add(30 * time.Second))
	if _, err := io.ReadAll(c); errors.Is(err, os.ErrDeadlineExceeded) {
		t.Error("the connection stays open")
	}
	if _, err := f.post(t.Context(), "/sdk"); err != nil {
		t.Error(err)
	}
}
