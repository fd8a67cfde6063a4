package sandbox

import (
	"context"
	"crypto/x509"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/vsphere-sandbox/vsphere-sandbox/internal/ccm"
	"github.com/vsphere-sandbox/vsphere-sandbox/internal/child"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/event"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/sandbox/api"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/sandbox/cloudconfig"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/sandbox/vcenters/real"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/sandbox/vcenters/simulated"
)

// withReplica returns a sandbox with a replica whose process does nothing and whose port answers as handler says.
func withReplica(t *testing.T, handler http.HandlerFunc) (*Sandbox, *replica) {
	t.Helper()
	s := newSandbox(t, "single")
	server := httptest.NewTLSServer(handler)
	t.Cleanup(server.Close)
	pool := x509.NewCertPool()
	pool.AddCert(server.Certificate())
	s.ccms.trust(pool)
	_, port, err := net.SplitHostPort(server.Listener.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	r := &replica{name: ccmComponent, port: port, since: time.Now(), ill: "starting"}
	started := make(chan struct{}, 9)
	s.ccms.runs, s.ccms.list = CCM{Program: ccm.Program{Source: "module:v1.36.0", Version: "v1.36.0"}}, []*replica{r}
	r.child = child.Start(child.Spec{Name: ccmComponent, Path: "/bin/sleep", Args: []string{"600"}}, func(ch child.Change) {
		s.components.Note(ch, event.Object{Kind: "Component", Name: ccmComponent}, 0)
		if ch.State == child.Started {
			started <- struct{}{}
		}
	})
	t.Cleanup(func() {
		if err := r.child.Stop(context.Background()); err != nil {
			t.Error(err)
		}
	})
	<-started
	return s, r
}

func TestHealthAndMetrics(t *testing.T) {
	answer := make(chan int, 9)
	s, r := withReplica(t, func(w http.ResponseWriter, q *http.Request) {
		if q.URL.Path == "/metrics" {
			fmt.Fprint(w, "a 1\n")
			return
		}
		w.WriteHeader(<-answer)
		fmt.Fprintln(w, "said by healthz")
	})
	health := func() string {
		st := s.Status()
		return st.Components[0].Health
	}
	if got := health(); got != "starting" {
		t.Errorf("before the first probe: %q", got)
	}
	var seq uint64
	for _, tc := range []struct {
		status int
		health string
		event  string
	}{
		{500, "/healthz answers 500 Internal Server Error: said by healthz", ""},
		{200, "healthy", "ccm.healthy"},
		{200, "healthy", ""},
		{503, "/healthz answers 503 Service Unavailable: said by healthz", "ccm.unhealthy"},
	} {
		seq = s.log.Last()
		answer <- tc.status
		s.probe(t.Context(), r)
		if got := health(); got != tc.health {
			t.Errorf("%d: health %q, want %q", tc.status, got, tc.health)
		}
		events, _ := s.log.Read(seq, 0)
		var kinds []string
		for _, e := range events {
			kinds = append(kinds, e.Kind)
		}
		if got := strings.Join(kinds, " "); got != tc.event {
			t.Errorf("%d: events %q, want %q", tc.status, got, tc.event)
		}
	}
	if row := s.Status().Components[0]; row.Source != "module:v1.36.0" || row.Version != "v1.36.0" || row.Leader {
		t.Errorf("%+v", row)
	}

	c := serve(t, s)
	if got, err := c.Metrics(t.Context(), "ccm"); err != nil || string(got) != "a 1\n" {
		t.Errorf("metrics: %q, %v", got, err)
	}
	_, err := c.Metrics(t.Context(), "node/x")
	requireCode(t, "metrics of a kubelet", err, "not-found")
	_, err = c.Metrics(t.Context(), "control-plane")
	requireCode(t, "metrics of no API server", err, "unavailable")
	s.ccms.tell(func() { r.port = "1" })
	_, err = c.Metrics(t.Context(), "ccm")
	requireCode(t, "metrics of a port that nobody listens at", err, "unavailable")
}

// What a replica that is being ended answers, or does not, is not said of its health.
func TestHealthOfOneThatEnds(t *testing.T) {
	var end func()
	s, r := withReplica(t, func(w http.ResponseWriter, _ *http.Request) {
		if end != nil {
			end()
			w.WriteHeader(http.StatusServiceUnavailable)
		}
	})
	s.probe(t.Context(), r)
	seq := s.log.Last()
	for _, f := range []func(context.Context) error{r.child.Renew, r.child.Restart, r.child.Stop} {
		end = func() {
			if err := f(t.Context()); err != nil {
				t.Error(err)
			}
		}
		s.probe(t.Context(), r)
	}
	events, _ := s.log.Read(seq, 0)
	if slices.ContainsFunc(events, func(e event.Event) bool { return strings.HasPrefix(e.Kind, "ccm.") }) || !r.healthy {
		t.Errorf("healthy: %v; %+v", r.healthy, events)
	}
}

// Whoever waits for health gets it, or the reason why it will not come.
func TestAwaitCCM(t *testing.T) {
	s := newSandbox(t, "single")
	s.ccms.patience = 50 * time.Millisecond
	r := &replica{name: ccmComponent, since: time.Now(), ill: "does not listen at its port"}
	s.ccms.list = []*replica{r}
	if err := os.WriteFile(s.opts.Dir.Log(ccmComponent), []byte("of another\nwaiting for Godot\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := s.awaitCCM(t.Context()); err == nil || !strings.HasSuffix(err.Error(), "after its start: does not listen at its port; its last words: waiting for Godot") {
		t.Errorf("hangs: %v", err)
	}
	r.logFrom = int64(len("of another\nwaiting for Godot\n"))
	if err := s.awaitCCM(t.Context()); err == nil || !strings.HasSuffix(err.Error(), "; it has logged nothing") {
		t.Errorf("hangs without a word: %v", err)
	}
	s.ccms.patience = time.Hour
	for want, change := range map[string]func(){
		"":                        func() { r.healthy = true },
		"ccm: exit status 7":      func() { r.healthy, r.exits, r.last = false, 2, "ccm: exit status 7" },
		"the sandbox is stopping": func() { s.ccms.stopped = true },
	} {
		done := make(chan error)
		s.ccms.tell(func() { r.healthy, r.exits, s.ccms.stopped = false, 0, false })
		go func() { done <- s.awaitCCM(t.Context()) }()
		s.ccms.tell(change)
		if err := <-done; want == "" && err != nil || want != "" && (err == nil || err.Error() != want) {
			t.Errorf("%q: %v", want, err)
		}
	}
	s.ccms.tell(func() { r.healthy, r.exits, s.ccms.stopped = false, 0, false })
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if err := s.awaitCCM(ctx); !errors.Is(err, context.Canceled) {
		t.Errorf("canceled: %v", err)
	}
}

// A boot whose cloud controller manager never becomes healthy ends, and says so.
func TestBootEndsWithoutHealth(t *testing.T) {
	s, r := withReplica(t, func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusInternalServerError) })
	s.ccms.patience = 10 * time.Millisecond
	err := bootWith(t, s, func(ctx context.Context) {
		s.background.Run("ccm health", s.watchCCMHealth)
		<-ctx.Done()
	})
	if err == nil || !strings.HasPrefix(err.Error(), "boot: "+r.name+": not healthy") {
		t.Errorf("ended with %v", err)
	}
	if err := s.background.End(context.Background(), "ccm health"); err != nil {
		t.Error(err)
	}
}

func TestArguments(t *testing.T) {
	s := newSandbox(t, "single")
	s.components.Command = []string{"-x"}
	r := &replica{name: "ccm-2", port: "1234"}
	has := func(args []string, want ...string) {
		t.Helper()
		for _, w := range want {
			if !slices.Contains(args, w) {
				t.Errorf("no %s in %q", w, args)
			}
		}
	}
	own := s.ccmSpec(r, CCM{}.withDefaults(), false)
	if own.Path != "" || !slices.Equal(own.Args[:2], []string{"-x", ccmCommand}) {
		t.Errorf("built in: %+v", own)
	}
	has(own.Args, "--leader-elect=false", "--secure-port=1234", "--bind-address=127.0.0.1", "--config-poll-period=500ms",
		"--kubeconfig="+s.opts.Dir.Path("ccm", "ccm-2.kubeconfig"))

	other := s.ccmSpec(r, CCM{Program: ccm.Program{Path: "/opt/ccm"}, Args: []string{"--v=9"}, Env: []string{"A=1"}}, true)
	if other.Path != "/opt/ccm" || other.Args[0] != "--cloud-provider=vsphere" || other.Args[len(other.Args)-1] != "--v=9" || !slices.Contains(other.Env, "A=1") {
		t.Errorf("another: %+v", other)
	}
	has(other.Args, "--leader-elect=true", "--leader-elect-lease-duration=5s", "--leader-elect-renew-deadline=3.333s", "--leader-elect-retry-period=667ms", "--v=2")
	for _, a := range other.Args {
		if strings.HasPrefix(a, "--config-poll") || strings.HasPrefix(a, "--tag-refresh") || strings.HasPrefix(a, "--concurrent-node-syncs") || strings.HasPrefix(a, "--vcenter") {
			t.Errorf("%s is none of upstream's defaults", a)
		}
	}
	s.source = real.New(&real.Options{}) // which may take half a minute to answer
	has(s.ccmSpec(r, CCM{}.withDefaults(), false).Args, "--vcenter-call-timeout=1m0s")
	s.source = simulated.New(simulated.Options{})
	s.opts.Speed = 1
	has(s.ccmArgs(r, CCM{}, true), "--leader-elect-lease-duration=15s", "--leader-elect-renew-deadline=10s", "--leader-elect-retry-period=2s")
}

// The rights of one program are not those of another.
func TestRights(t *testing.T) {
	names := func(c CCM, elect bool) (keys []string) {
		for _, o := range ccmRights(c, elect, cloudconfig.Namespace, "") {
			keys = append(keys, objectKey(o))
		}
		return keys
	}
	own := names(CCM{}.withDefaults(), false)
	elect := names(CCM{}.withDefaults(), true)
	if len(elect) != len(own)+2 {
		t.Errorf("to elect a leader takes a role and its binding: %q, without %q", elect, own)
	}
	want := []string{"*v1.ServiceAccount kube-system/cloud-controller-manager", "*v1.ClusterRole /system:cloud-controller-manager", "*v1.ClusterRoleBinding /system:cloud-controller-manager"}
	if diff := cmp.Diff(want, names(CCM{Program: ccm.Program{Path: "/x"}}, true)); diff != "" {
		t.Errorf("another (-want +got):\n%s", diff)
	}
	for _, key := range own[1:] {
		if slices.Contains(want[1:], key) {
			t.Errorf("%s is both's", key)
		}
	}
}

func TestSwapsThatAreRefused(t *testing.T) {
	s := newSandbox(t, "single")
	c := serve(t, s)
	plain := filepath.Join(t.TempDir(), "plain")
	if err := os.WriteFile(plain, []byte("text"), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, tc := range []struct {
		request api.CCMRequest
		code    string
	}{
		{api.CCMRequest{}, "unavailable"}, // it boots
		{api.CCMRequest{Replicas: -1}, "invalid"},
		{api.CCMRequest{Replicas: maxReplicas + 1}, "invalid"},
		{api.CCMRequest{Path: "/nonexistent/ccm"}, "invalid"},
		{api.CCMRequest{Path: plain}, "invalid"},
	} {
		_, err := c.SwapCCM(t.Context(), tc.request)
		requireCode(t, fmt.Sprintf("%+v", tc.request), err, tc.code)
	}
	_, err := c.RestartCCM(t.Context())
	requireCode(t, "restart", err, "unavailable")
	requireCode(t, "scale", s.scaleCCM(t.Context(), 2), "unavailable")
	requireCode(t, "scale", s.scaleCCM(t.Context(), 0), "invalid")
	s.opts.VCentersOnly = true
	s.standOn(s.newGround())
	_, err = c.SwapCCM(t.Context(), api.CCMRequest{})
	requireCode(t, "vCenters alone", err, "conflict")
	if events, _ := s.log.Read(0, 0); len(events) > 0 {
		t.Errorf("something was done: %+v", events)
	}
}

// A port that somebody else was faster to take is given up for another.
func TestPortTaken(t *testing.T) {
	s := newSandbox(t, "single")
	script := filepath.Join(t.TempDir(), "ccm")
	// The first says what a CCM says whose port is taken; whoever has another port runs.
	text := `#!/bin/sh
for a; do case "$a" in --secure-port=*) port=${a#*=};; esac; done
if mkdir "$0.first" 2>/dev/null; then
	echo "failed to create listener: failed to listen on 127.0.0.1:$port: listen tcp 127.0.0.1:$port: bind: address already in use" >&2
	exit 1
fi
exec sleep 600
`
	if err := os.WriteFile(script, []byte(text), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := s.launchCCM(CCM{Program: ccm.Program{Path: script}, Replicas: 1}, false, 0); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := s.stopCCM(context.Background()); err != nil {
			t.Error(err)
		}
	})
	first := s.ccms.all()[0]
	for after := uint64(0); ; {
		now := s.ccms.find(ccmComponent)
		if now != first && now.port != first.port && s.ccms.child(ccmComponent) != nil && s.ccms.child(ccmComponent).PID() != 0 {
			return
		}
		events, _, err := s.log.Wait(t.Context(), after, 1)
		if err != nil {
			t.Fatal(err)
		}
		after = events[0].Seq
	}
}
