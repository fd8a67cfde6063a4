package attach

import (
	"context"
	"crypto/tls"
	"encoding/json"
	"errors"
	"io"
	"log/slog"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/vsphere-sandbox/vsphere-sandbox/internal/cli/report"
	"github.com/vsphere-sandbox/vsphere-sandbox/internal/instance"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/cluster/existing"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/event"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/sandbox/api"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/topology"
	"github.com/vsphere-sandbox/vsphere-sandbox/scenarios"
)

// pod is what is in the cluster: a control API and a vCenter, each on a port, to which it is the tunnel too.
type pod struct {
	vcenter *httptest.Server

	mu     sync.Mutex
	api    *httptest.Server // nil while it is down
	asked  []string
	closed bool
}

func (p *pod) Dial(ctx context.Context, port int) (net.Conn, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	to := p.vcenter.Listener.Addr()
	if port == existing.ControlPort {
		if p.api == nil {
			return nil, errors.New("connection refused")
		}
		to = p.api.Listener.Addr()
	}
	var d net.Dialer
	return d.DialContext(ctx, to.Network(), to.String())
}

func (p *pod) Close() error {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.closed = true
	return nil
}

// port is where the pod says that its vCenter listens.
func (p *pod) port() int { return p.vcenter.Listener.Addr().(*net.TCPAddr).Port }

func (p *pod) url() string { return "https://10.244.0.5:" + strconv.Itoa(p.port()) + "/sdk" }

func (p *pod) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	p.mu.Lock()
	p.asked = append(p.asked, r.Method+" "+r.URL.String())
	p.mu.Unlock()
	switch r.URL.Path {
	case "/v1/status":
		reply(w, api.Status{
			Name: "mine", Phase: api.Ready, PID: 1, Dir: "/state/mine", Server: "https://10.96.0.1:443", Kubeconfig: "/state/mine/kubeconfig",
			Context: "default", Topology: "single", Components: []api.Component{{Name: "ccm", Log: "/state/mine/logs/ccm.log"}},
			VCenters: []api.VCenter{{Name: "vc", URL: p.url()}},
		})
	case "/v1/vcenters":
		reply(w, []api.VCenter{{Name: "vc", URL: p.url(), User: "administrator@vsphere.local"}})
	case "/v1/nodes":
		reply(w, []api.Node{{Name: "worker-1"}})
	case "/v1/access":
		reply(w, []api.Access{{VCenter: "vc", URL: p.url(), User: "u", Password: "p", CAFile: "/state/mine/pki/ca.crt"}})
	case "/v1/watch":
		e := json.NewEncoder(w)
		_ = e.Encode(api.Update{VCenter: &api.VCenter{Name: "vc", URL: p.url()}})
		_ = e.Encode(api.Update{Event: &event.Event{Seq: 7, Message: `"vcenter":{ in words`}})
		_ = e.Encode(api.Update{Synced: true})
		w.(http.Flusher).Flush()
		<-r.Context().Done()
	case "/v1/vm":
		body, _ := io.ReadAll(r.Body)
		fail(w, http.StatusNotFound, api.Error{Code: "not-found", Message: string(body)})
	default:
		reply(w, api.Done{Message: "done " + r.URL.Path})
	}
}

// attached is a sandbox whose pod is there, and a client of its socket.
func attached(t *testing.T) (*Sandbox, *pod, *api.Client) {
	t.Helper()
	p := &pod{}
	p.vcenter = httptest.NewTLSServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { _, _ = io.WriteString(w, "vCenter "+r.URL.Path) }))
	t.Cleanup(p.vcenter.Close)
	p.api = httptest.NewServer(p)
	server := p.api
	t.Cleanup(server.Close)
	s := New(options(t, existing.Target{}))
	if err := s.serve(t.Context()); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := s.door.close(context.Background()); err != nil {
			t.Error(err)
		}
	})
	s.tunnel = p
	return s, p, api.NewClient(s.opts.Dir.SocketPath())
}

func options(t *testing.T, target existing.Target) Options {
	t.Helper()
	root, err := os.MkdirTemp("", "attach") // the path of t.TempDir may be too long for a socket
	if err != nil {
		t.Fatal(err)
	}
	dir, err := instance.Create(root, "mine")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := errors.Join(dir.Remove(), os.RemoveAll(root)); err != nil {
			t.Error(err)
		}
	})
	return Options{
		Name: "mine", Topology: scenario(t), Dir: dir, Logger: slog.New(slog.DiscardHandler), Image: "localhost/vsphere-sandbox:v1", Target: target,
	}
}

func scenario(t *testing.T) *topology.Topology {
	t.Helper()
	top, err := scenarios.Load("single")
	if err != nil {
		t.Fatal(err)
	}
	return top
}

// What the pod says is put right for this machine: paths, and the way to vCenters.
func TestAnswers(t *testing.T) {
	s, _, c := attached(t)
	ctx := t.Context()
	if err := s.lead(ctx); err != nil {
		t.Fatal(err)
	}
	s.setPhase(api.Ready)
	local, _ := s.led("vc")
	want := "https://" + local.local + "/sdk"
	if !strings.HasPrefix(local.local, "127.0.0.1:") {
		t.Errorf("leads from %s", local.local)
	}
	st, err := c.Status(ctx)
	if err != nil || st.Phase != api.Ready || st.PID != os.Getpid() || st.Dir != s.opts.Dir.Path() || st.Topology != "single" ||
		st.Components[0].Log != "" || st.VCenters[0].URL != want {
		t.Errorf("status %+v, %v", st, err)
	}
	vcs, err := c.VCenters(ctx)
	if err != nil || vcs[0].URL != want || vcs[0].User == "" {
		t.Errorf("vcenters %+v, %v", vcs, err)
	}
	if s.Status().VCenters[0].URL != want || s.Nodes()[0].Name != "worker-1" {
		t.Errorf("when ready: %+v", s.Status())
	}

	access, err := c.Access(ctx)
	if err != nil || access[0].URL != want || access[0].Password != "p" {
		t.Fatalf("access %+v, %v", access, err)
	}
	// With the file that is named the vCenter is verified.
	pem, err := os.ReadFile(access[0].CAFile)
	if err != nil {
		t.Fatal(err)
	}
	pool := tls.Config{RootCAs: poolOf(t, pem)}
	client := http.Client{Transport: &http.Transport{TLSClientConfig: &pool, DisableKeepAlives: true}}
	resp, err := client.Get(access[0].URL)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	if text, _ := io.ReadAll(resp.Body); string(text) != "vCenter /sdk" {
		t.Errorf("got %q", text)
	}

	var rows []string
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	err = c.Watch(ctx, 0, func(u api.Update) error {
		switch {
		case u.VCenter != nil:
			rows = append(rows, u.VCenter.URL)
		case u.Event != nil:
			rows = append(rows, u.Event.Message)
		case u.Synced:
			cancel()
		}
		return nil
	})
	if diff := cmp.Diff([]string{want, `"vcenter":{ in words`}, rows); diff != "" {
		t.Errorf("watch: %v (-want +got):\n%s", err, diff)
	}
}

// The rest goes to the pod and comes back as it is; what can only be done on a sandbox's own machine is refused.
func TestRequests(t *testing.T) {
	_, p, c := attached(t)
	ctx := t.Context()
	var reported *api.Error
	if _, err := c.VM(ctx, api.VMRequest{Action: api.PowerOff, VM: "w"}); !errors.As(err, &reported) || reported.Code != "not-found" || reported.Message != `{"action":"power-off","vm":"w"}` {
		t.Errorf("an error of the pod: %v", err)
	}
	if done, err := c.SwapCCM(ctx, api.CCMRequest{Replicas: 2}); err != nil || done.Message != "done /v1/ccm" {
		t.Errorf("replicas: %+v, %v", done, err)
	}
	if _, err := c.SwapCCM(ctx, api.CCMRequest{Path: "/bin/mine"}); !errors.As(err, &reported) || reported.Code != "unsupported" {
		t.Errorf("a program of this machine: %v", err)
	}
	if _, err := c.VolumePath(ctx, api.PathRequest{Volume: "v"}); !errors.As(err, &reported) || reported.Code != "unsupported" {
		t.Errorf("a path: %v", err)
	}
	if diff := cmp.Diff([]string{"POST /v1/vm", "POST /v1/ccm"}, p.asked); diff != "" {
		t.Errorf("asked of the pod (-want +got):\n%s", diff)
	}
}

// While the pod does not answer, status does, and everything else says why not. A stop is for this side.
func TestAbsent(t *testing.T) {
	s, p, c := attached(t)
	p.mu.Lock()
	p.api = nil
	p.mu.Unlock()
	st, err := c.Status(t.Context())
	if err != nil || st.Phase != api.Booting || st.Name != "mine" || st.Dir == "" {
		t.Errorf("%+v, %v", st, err)
	}
	var reported *api.Error
	if _, err := c.Nodes(t.Context()); !errors.As(err, &reported) || reported.Code != "unavailable" || !strings.Contains(reported.Message, "connection refused") {
		t.Errorf("got %v", err)
	}
	for _, want := range []string{"stopping", "stopping already"} {
		if done, err := c.Stop(t.Context()); err != nil || done.Message != want {
			t.Errorf("%+v, %v", done, err)
		}
	}
	select {
	case <-s.asked:
	default:
		t.Error("nobody was told")
	}
	if len(p.asked) > 0 {
		t.Errorf("the pod was asked for %q", p.asked)
	}
}

// A cluster that cannot be used is reported at once, and nothing is left: no note, no socket.
func TestRunRefused(t *testing.T) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	l.Close()
	file := filepath.Join(t.TempDir(), "config")
	text := `{apiVersion: v1, kind: Config, current-context: lab, clusters: [{name: c, cluster: {server: "https://` + l.Addr().String() + `"}}],
users: [{name: u, user: {token: t}}], contexts: [{name: lab, context: {cluster: c, user: u}}]}`
	if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	for code, target := range map[string]existing.Target{
		existing.CodeKubeconfig:  {Kubeconfig: file, Context: "other"},
		existing.CodeUnreachable: {Kubeconfig: file},
	} {
		t.Run(code, func(t *testing.T) {
			s := New(options(t, target))
			begin := time.Now()
			err := s.Run(t.Context(), func() { t.Error("ready") })
			if r := report.Of(err); r.Code != code || r.Exit != report.Prerequisite || r.Try == "" {
				t.Errorf("ended with %+v", r)
			}
			if took := time.Since(begin); took > 2*existing.Patience {
				t.Errorf("after %s", took)
			}
			for _, left := range []string{s.opts.Dir.SocketPath(), existing.NotePath(s.opts.Dir.Path())} {
				if _, err := os.Stat(left); err == nil {
					t.Errorf("%s is left", left)
				}
			}
		})
	}
}

func TestRunInterrupted(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if err := New(options(t, existing.Target{Kubeconfig: "/nowhere"})).Run(ctx, nil); report.Of(err).Code != "interrupted" {
		t.Errorf("got %v", err)
	}
}
