package sandbox

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http/httptest"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/vsphere-sandbox/vsphere-sandbox/internal/build"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/event"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/sandbox/api"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/sandbox/boot"
)

// serve opens the control API of s, which ends with the test, and returns a client.
func serve(t testing.TB, s *Sandbox) *api.Client {
	t.Helper()
	if err := s.server.Start(t.Context()); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := s.server.Close(context.Background()); err != nil {
			t.Error(err)
		}
	})
	return api.NewClient(s.opts.Dir.SocketPath())
}

// requireCode fails unless err is an answer of that code.
func requireCode(t *testing.T, what string, err error, code string) {
	t.Helper()
	var e *api.Error
	if !errors.As(err, &e) || e.Code != code {
		t.Errorf("%s: %v, want an error of code %q", what, err, code)
	}
}

func TestSocketIsForItsOwner(t *testing.T) {
	s := newSandbox(t, "single")
	if err := s.server.Start(t.Context()); err != nil {
		t.Fatal(err)
	}
	path := s.opts.Dir.SocketPath()
	if info, err := os.Stat(path); err != nil || info.Mode().Perm() != 0o600 || info.Mode().Type() != os.ModeSocket {
		t.Errorf("%v, %v", info, err)
	}
	if err := s.server.Close(t.Context()); err != nil {
		t.Error(err)
	}
	if _, err := os.Stat(path); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("after the end: %v", err)
	}
	if _, err := api.NewClient(path).Status(t.Context()); err == nil {
		t.Error("it answers after its end")
	}
}

// Every other command can see the boot, from its first moment on.
func TestAPIWhileBooting(t *testing.T) {
	s := newSandbox(t, "single")
	c := serve(t, s)
	ctx := t.Context()
	s.boot.SetProgress(Progress{Step: 3, Steps: 11, Name: "API server"})
	s.boot.Detail("etcd")
	st, err := c.Status(ctx)
	if err != nil {
		t.Fatal(err)
	}
	want := api.Status{
		Name: "test", Phase: api.Booting, Step: "API server: etcd", PID: os.Getpid(), Topology: "single", Speed: 10, StartedAt: st.StartedAt,
		Dir: s.opts.Dir.Path(), Version: st.Version, KubernetesVersion: build.Kubernetes(), Components: []api.Component{}, VCenters: []api.VCenter{},
		Ground: api.Ground{Cluster: api.ClusterEmbedded, Inventory: api.InventorySimulated, Writable: true, Nodes: api.NodesHollow},
	}
	if diff := cmp.Diff(want, st); diff != "" {
		t.Errorf("status (-want +got):\n%s", diff)
	}
	if vcenters, err := c.VCenters(ctx); err != nil || len(vcenters) > 0 {
		t.Errorf("vcenters: %v, %v", vcenters, err)
	}
	for what, call := range map[string]func() error{
		"datacenters": func() error { _, err := c.Datacenters(ctx); return err },
		"hosts":       func() error { _, err := c.Hosts(ctx); return err },
		"vms":         func() error { _, err := c.VMs(ctx); return err },
		"nodes":       func() error { _, err := c.Nodes(ctx); return err },
		"zones":       func() error { _, err := c.Zones(ctx); return err },
		"access":      func() error { _, err := c.Access(ctx); return err },
		"vm":          func() error { _, err := c.VM(ctx, api.VMRequest{Action: api.PowerOff, VM: "worker-1"}); return err },
		"gate":        func() error { _, err := c.Gate(ctx, api.GateRequest{VCenter: "vc", Mode: "down"}); return err },
	} {
		requireCode(t, what, call(), "unavailable")
	}

	s.boot.SetPhase(api.Ready)
	if st, err := c.Status(ctx); err != nil || st.Phase != api.Ready || st.Step != "" || st.ReadyAt == nil {
		t.Errorf("ready: %+v, %v", st, err)
	}
}

func TestStopTwice(t *testing.T) {
	s := newSandbox(t, "single")
	c := serve(t, s)
	select {
	case <-s.asked:
		t.Fatal("a stop was asked for")
	default:
	}
	for _, want := range []string{"stopping", "stopping already"} {
		if done, err := c.Stop(t.Context()); err != nil || done.Message != want {
			t.Errorf("%+v, %v, want %q", done, err, want)
		}
		<-s.asked
	}
}

func TestRequestsThatAreRefused(t *testing.T) {
	s := newSandbox(t, "single")
	for _, tc := range []struct {
		name, method, path, body string
		status                   int
		message                  string
	}{
		{"no JSON", "POST", "/v1/vm", "vm", 400, "request: invalid character"},
		{"empty", "POST", "/v1/stop", "", 400, "request: EOF"},
		{"unknown field", "POST", "/v1/vm", `{"action":"reset","vms":["a"]}`, 400, `request: json: unknown field "vms"`},
		{"unknown field of a stop", "POST", "/v1/stop", `{"force":true}`, 400, `request: json: unknown field "force"`},
		{"wrong type", "POST", "/v1/gate", `{"delay":5}`, 400, "request: json: cannot unmarshal number"},
		{"bad duration", "POST", "/v1/gate", `{"delay":"5 parsecs"}`, 400, `request: time: unknown unit`},
		{"too large", "POST", "/v1/vm", `{"vm":"` + strings.Repeat("x", 1<<20) + `"}`, 400, "request: http: request body too large"},
		{"events after nothing", "GET", "/v1/events", "", 400, "after: "},
		{"events after a word", "GET", "/v1/events?after=yesterday", "", 400, "after: "},
		{"unknown path", "GET", "/v1/passwords", "", 404, ""},
		{"unknown version", "GET", "/v2/status", "", 404, ""},
		{"wrong method", "GET", "/v1/stop", "", 405, ""},
		{"wrong method", "POST", "/v1/status", "", 405, ""},
	} {
		t.Run(tc.name, func(t *testing.T) {
			w := httptest.NewRecorder()
			s.routes().ServeHTTP(w, httptest.NewRequestWithContext(t.Context(), tc.method, tc.path, strings.NewReader(tc.body)))
			if w.Code != tc.status || tc.message != "" && !strings.Contains(w.Body.String(), `{"code":"invalid","message":`+quotedPrefix(tc.message)) {
				t.Errorf("%d: %s", w.Code, w.Body)
			}
		})
	}
	select {
	case <-s.asked:
		t.Error("a refused request stops the sandbox")
	default:
	}
}

// quotedPrefix is the beginning of text as JSON.
func quotedPrefix(text string) string { return `"` + strings.ReplaceAll(text, `"`, `\"`) }

func TestEvents(t *testing.T) {
	s := newSandbox(t, "single")
	s.log = event.NewLog(3)
	for range 5 {
		s.log.Append(event.Event{Kind: "old"})
	}
	c := serve(t, s)

	read := func(after uint64) (seqs []uint64, lost uint64) {
		t.Helper()
		err := c.Events(t.Context(), after, false, func(e event.Event, l uint64) error {
			seqs, lost = append(seqs, e.Seq), lost+l
			return nil
		})
		if err != nil {
			t.Error(err)
		}
		return seqs, lost
	}
	for _, tc := range []struct {
		after uint64
		want  []uint64
		lost  uint64
	}{{0, []uint64{3, 4, 5}, 2}, {1, []uint64{3, 4, 5}, 1}, {4, []uint64{5}, 0}, {5, nil, 0}, {99, nil, 0}} {
		got, lost := read(tc.after)
		if diff := cmp.Diff(tc.want, got); diff != "" || lost != tc.lost {
			t.Errorf("after %d: %d lost, want %d (-want +got):\n%s", tc.after, lost, tc.lost, diff)
		}
	}

	// With follow, the stream continues with new events until its reader leaves.
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	var followed []uint64
	err := c.Events(ctx, 4, true, func(e event.Event, _ uint64) error {
		followed = append(followed, e.Seq)
		if e.Seq == 7 {
			cancel()
		} else {
			s.log.Append(event.Event{Kind: "new"})
		}
		return nil
	})
	if diff := cmp.Diff([]uint64{5, 6, 7}, followed); diff != "" || !errors.Is(err, context.Canceled) {
		t.Errorf("followed: %v (-want +got):\n%s", err, diff)
	}
}

func TestFollowersEndWithTheSandbox(t *testing.T) {
	s := newSandbox(t, "single")
	c := serve(t, s)
	s.log.Append(event.Event{Kind: "first"})
	reading := make(chan struct{}, 1)
	ended := make(chan error, 1)
	go func() {
		ended <- c.Events(t.Context(), 0, true, func(event.Event, uint64) error {
			reading <- struct{}{}
			return nil
		})
	}()
	<-reading
	if err := s.server.Close(t.Context()); err != nil {
		t.Errorf("close: %v", err)
	}
	if err := <-ended; err != nil {
		t.Errorf("the stream ended with %v", err)
	}
}

// A suspended reader does not block the end of the sandbox.
func TestStalledReadersAreCutOff(t *testing.T) {
	s := newSandbox(t, "single")
	for i := range 8 { // more than a socket takes
		s.watchCache.SetComponent(api.Component{Name: fmt.Sprint(i), Message: strings.Repeat("x", 1<<20)})
	}
	if err := s.server.Start(t.Context()); err != nil {
		t.Fatal(err)
	}
	conn, err := (&net.Dialer{}).DialContext(t.Context(), "unix", s.opts.Dir.SocketPath())
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	if _, err := fmt.Fprint(conn, "GET /v1/watch?after=0 HTTP/1.1\r\nHost: sandbox\r\n\r\n"); err != nil {
		t.Fatal(err)
	}
	if _, err := conn.Read(make([]byte, 1)); err != nil {
		t.Fatal(err)
	}
	begin := time.Now()
	if err := s.server.Close(t.Context()); err != nil {
		t.Error(err)
	}
	if took := time.Since(begin); took >= boot.StopTimeout {
		t.Errorf("it took %s", took)
	}
}
