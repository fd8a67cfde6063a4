package ccm

import (
	"context"
	"crypto/x509"
	"errors"
	"fmt"
	"log/slog"
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
	authenticationv1 "k8s.io/api/authentication/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/kubernetes/fake"
	clienttesting "k8s.io/client-go/testing"

	"github.com/vsphere-sandbox/vsphere-sandbox/internal/child"
	"github.com/vsphere-sandbox/vsphere-sandbox/internal/instance"
	programs "github.com/vsphere-sandbox/vsphere-sandbox/internal/program"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/event"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/sandbox/accounts"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/sandbox/api"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/sandbox/background"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/sandbox/causality"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/sandbox/cloudconfig"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/sandbox/components"
)

// objects is a cluster that has objects and nothing else.
type objects struct{ client kubernetes.Interface }

func (o objects) Client() kubernetes.Interface { return o.client }

func (o objects) Token(path, _, _ string) error { return os.WriteFile(path, nil, 0o600) }

// rows drops the rows of components.
type rows struct{}

func (rows) SetComponent(api.Component) {}
func (rows) DeleteComponent(string)     {}

// newProcesses returns processes none of which runs, in a cluster that has objects and nothing else.
func newProcesses(t *testing.T) *Processes {
	t.Helper()
	dir, err := instance.Create(t.TempDir(), "test")
	if err != nil {
		t.Fatal(err)
	}
	if err := os.MkdirAll(dir.Path("ccm"), 0o700); err != nil {
		t.Fatal(err)
	}
	client := fake.NewClientset()
	client.PrependReactor("create", "serviceaccounts", func(a clienttesting.Action) (bool, runtime.Object, error) {
		return a.GetSubresource() == "token", &authenticationv1.TokenRequest{}, nil
	})
	log, groups := event.NewLog(0), &background.Groups{}
	p := &Processes{
		Speed: 10, Causes: &causality.Finder{Log: log}, Ongoing: &causality.Ongoing{}, Background: groups,
		Proxies: &components.Proxies{Server: func() string { return "127.0.0.1:1" }},
		Tokens: &accounts.Tokens{
			Client: func() kubernetes.Interface { return client }, Log: log, Background: groups, AddSecret: func(...string) error { return nil },
		},
		Cluster:   func() Cluster { return objects{client} },
		Place:     Place{Namespace: cloudconfig.Namespace},
		Unhealthy: func(string) {}, ConfigFile: dir.Path("ccm", "vsphere.conf"),
	}
	p.Log, p.Logger, p.Dir, p.Ready = log, slog.New(slog.DiscardHandler), dir, func() error { return nil }
	p.Components = &components.Registry{Dir: dir, Log: log, Logger: p.Logger, Cache: rows{}, Describe: p.Describe, Crashed: func(int, string) {}}
	t.Cleanup(func() {
		if err := errors.Join(p.Stop(context.Background()), p.Proxies.Close(), dir.Remove()); err != nil {
			t.Error(err)
		}
	})
	return p
}

// sleeping adds a replica whose process does nothing.
func (p *Processes) sleeping(t *testing.T, port string) *replica {
	t.Helper()
	r, started := &replica{name: Component, port: port, started: time.Now(), reason: "starting"}, make(chan struct{}, 9)
	r.child = child.Start(child.Spec{Name: Component, Path: "/bin/sleep", Args: []string{"600"}}, func(ch child.Change) {
		p.Components.Note(ch, event.Object{Kind: "Component", Name: Component}, p.restartCause())
		if ch.State == child.Started {
			started <- struct{}{}
		}
	})
	<-started
	p.update(func() {
		p.running, p.list = Options{Program: programs.Program{Source: "module:v1.36.0", Version: "v1.36.0"}}, []*replica{r}
	})
	return r
}

// answering returns processes with a replica whose port answers with a handler.
func answering(t *testing.T, handler http.HandlerFunc) (*Processes, *replica) {
	t.Helper()
	p := newProcesses(t)
	server := httptest.NewTLSServer(handler)
	t.Cleanup(server.Close)
	pool := x509.NewCertPool()
	pool.AddCert(server.Certificate())
	p.trust(pool)
	_, port, err := net.SplitHostPort(server.Listener.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	return p, p.sleeping(t, port)
}

// row returns the only row of the components.
func (p *Processes) row(t *testing.T) api.Component {
	t.Helper()
	all := p.Components.All()
	if len(all) != 1 {
		t.Fatalf("%+v", all)
	}
	p.Describe(all)
	return all[0]
}

func kinds(log *event.Log, after uint64) (all []string) {
	events, _ := log.Read(after, 0)
	for _, e := range events {
		all = append(all, e.Kind)
	}
	return all
}

// requireCode requires an error of the control API.
func requireCode(t *testing.T, what string, err error, code string) {
	t.Helper()
	if e, ok := errors.AsType[*api.Error](err); !ok || e.Code != code {
		t.Errorf("%s: %v, want code %q", what, err, code)
	}
}

func TestHealthAndMetrics(t *testing.T) {
	answer := make(chan int, 9)
	p, r := answering(t, func(w http.ResponseWriter, q *http.Request) {
		if q.URL.Path == "/metrics" {
			fmt.Fprint(w, "a 1\n")
			return
		}
		w.WriteHeader(<-answer)
		fmt.Fprintln(w, "from healthz")
	})
	if got := p.row(t).Health; got != "starting" {
		t.Errorf("before the first probe: %q", got)
	}
	for _, tc := range []struct {
		status int
		health string
		event  string
	}{
		{500, "/healthz answers 500 Internal Server Error: from healthz", ""},
		{200, "healthy", "ccm.healthy"},
		{200, "healthy", ""},
		{503, "/healthz answers 503 Service Unavailable: from healthz", "ccm.unhealthy"},
	} {
		seq := p.Log.Last()
		answer <- tc.status
		p.probe(t.Context(), r)
		if got := p.row(t).Health; got != tc.health {
			t.Errorf("%d: health %q, want %q", tc.status, got, tc.health)
		}
		if got := strings.Join(kinds(p.Log, seq), " "); got != tc.event {
			t.Errorf("%d: events %q, want %q", tc.status, got, tc.event)
		}
	}
	if row := p.row(t); row.Source != "module:v1.36.0" || row.Version != "v1.36.0" || row.Leader {
		t.Errorf("%+v", row)
	}
	if got, err := p.Metrics(t.Context(), Component); err != nil || string(got) != "a 1\n" {
		t.Errorf("metrics: %q, %v", got, err)
	}
	_, err := p.Metrics(t.Context(), "node/x")
	requireCode(t, "metrics of a kubelet", err, "not-found")
	p.update(func() { r.port = "1" })
	_, err = p.Metrics(t.Context(), Component)
	requireCode(t, "metrics of a port without a listener", err, "unavailable")
}

// The answer of a process that is being ended does not count.
func TestHealthWhileEnding(t *testing.T) {
	var end func()
	p, r := answering(t, func(w http.ResponseWriter, _ *http.Request) {
		if end != nil {
			end()
			w.WriteHeader(http.StatusServiceUnavailable)
		}
	})
	p.probe(t.Context(), r)
	seq := p.Log.Last()
	for _, f := range []func(context.Context) error{r.child.Renew, r.child.Restart, r.child.Stop} {
		end = func() {
			if err := f(t.Context()); err != nil {
				t.Error(err)
			}
		}
		p.probe(t.Context(), r)
	}
	if all := kinds(p.Log, seq); slices.ContainsFunc(all, func(k string) bool { return strings.HasPrefix(k, "ccm.") }) || !r.healthy {
		t.Errorf("healthy: %v; %+v", r.healthy, all)
	}
}

// Wait returns when a replica is healthy, or the reason why it will not be.
func TestWait(t *testing.T) {
	p := newProcesses(t)
	p.StartTime = 50 * time.Millisecond
	r := &replica{name: Component, started: time.Now(), reason: "does not listen at its port"}
	p.list = []*replica{r}
	if err := os.WriteFile(p.Dir.Log(Component), []byte("of another\nwaiting for Godot\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := p.Wait(t.Context()); err == nil || !strings.HasSuffix(err.Error(), "after its start: does not listen at its port; its last words: waiting for Godot") {
		t.Errorf("hangs: %v", err)
	}
	r.logFrom = int64(len("of another\nwaiting for Godot\n"))
	if err := p.Wait(t.Context()); err == nil || !strings.HasSuffix(err.Error(), "; it has logged nothing") {
		t.Errorf("hangs without a log: %v", err)
	}
	p.StartTime = time.Hour
	for want, change := range map[string]func(){
		"":                        func() { r.healthy = true },
		"ccm: exit status 7":      func() { r.healthy, r.exits, r.exit = false, 2, "ccm: exit status 7" },
		"the sandbox is stopping": func() { p.stopped = true },
	} {
		done := make(chan error)
		p.update(func() { r.healthy, r.exits, p.stopped = false, 0, false })
		go func() { done <- p.Wait(t.Context()) }()
		p.update(change)
		if err := <-done; want == "" && err != nil || want != "" && (err == nil || err.Error() != want) {
			t.Errorf("%q: %v", want, err)
		}
	}
	p.update(func() { r.healthy, r.exits, p.stopped = false, 0, false })
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if err := p.Wait(ctx); !errors.Is(err, context.Canceled) {
		t.Errorf("canceled: %v", err)
	}
}

// A replica that never becomes healthy is reported.
func TestUnhealthy(t *testing.T) {
	p, r := answering(t, func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusInternalServerError) })
	reported := make(chan string, 1)
	p.StartTime, p.Unhealthy = 10*time.Millisecond, func(text string) {
		select {
		case reported <- text:
		default:
		}
	}
	p.Background.Run(healthGroup, p.watchHealth)
	if text := <-reported; !strings.HasPrefix(text, r.name+": not healthy") {
		t.Errorf("reported %q", text)
	}
}

func TestArguments(t *testing.T) {
	p := newProcesses(t)
	p.Components.Command = []string{"-x"}
	r := &replica{name: "ccm-2", port: "1234"}
	has := func(args []string, want ...string) {
		t.Helper()
		for _, w := range want {
			if !slices.Contains(args, w) {
				t.Errorf("no %s in %q", w, args)
			}
		}
	}
	own := p.spec(r, Options{}.WithDefaults(), false)
	if own.Path != "" || !slices.Equal(own.Args[:2], []string{"-x", Command}) {
		t.Errorf("built in: %+v", own)
	}
	has(own.Args, "--leader-elect=false", "--secure-port=1234", "--bind-address=127.0.0.1", "--config-poll-period=500ms",
		"--kubeconfig="+p.Dir.Path("ccm", "ccm-2.kubeconfig"))

	p.Args = []string{"--vcenter-call-timeout=1m0s"}
	other := p.spec(r, Options{Program: programs.Program{Path: "/opt/ccm"}, Args: []string{"--v=9"}, Env: []string{"A=1"}}, true)
	if other.Path != "/opt/ccm" || other.Args[0] != "--cloud-provider=vsphere" || other.Args[len(other.Args)-1] != "--v=9" || !slices.Contains(other.Env, "A=1") {
		t.Errorf("another program: %+v", other)
	}
	has(other.Args, "--leader-elect=true", "--leader-elect-lease-duration=5s", "--leader-elect-renew-deadline=3.333s", "--leader-elect-retry-period=667ms", "--v=2")
	for _, a := range other.Args {
		for _, prefix := range []string{"--config-poll", "--tag-refresh", "--concurrent-node-syncs", "--vcenter"} {
			if strings.HasPrefix(a, prefix) {
				t.Errorf("%s is none of upstream's defaults", a)
			}
		}
	}
	has(p.spec(r, Options{}.WithDefaults(), false).Args, "--vcenter-call-timeout=1m0s")
	p.Speed, p.Place = 1, Place{Namespace: "own", Roles: "own"}
	has(p.arguments(r, Options{}, true), "--leader-elect-lease-duration=15s", "--leader-elect-renew-deadline=10s", "--leader-elect-retry-period=2s",
		"--leader-elect-resource-namespace=own")
}

// The rights of this project's program are not those of another.
func TestRights(t *testing.T) {
	names := func(o Options, elect bool) (keys []string) {
		for _, object := range (Place{Namespace: cloudconfig.Namespace}).Rights(o, elect) {
			keys = append(keys, objectKey(object))
		}
		return keys
	}
	own := names(Options{}.WithDefaults(), false)
	elect := names(Options{}.WithDefaults(), true)
	if len(elect) != len(own)+2 {
		t.Errorf("to elect a leader takes a role and its binding: %q, without %q", elect, own)
	}
	want := []string{"*v1.ServiceAccount kube-system/cloud-controller-manager", "*v1.ClusterRole /system:cloud-controller-manager", "*v1.ClusterRoleBinding /system:cloud-controller-manager"}
	if diff := cmp.Diff(want, names(Options{Program: programs.Program{Path: "/x"}}, true)); diff != "" {
		t.Errorf("another (-want +got):\n%s", diff)
	}
	for _, key := range own[1:] {
		if slices.Contains(want[1:], key) {
			t.Errorf("both have %s", key)
		}
	}
}

// Objects outside the default place carry its name, its labels or both.
func TestPlace(t *testing.T) {
	place := Place{Namespace: "vsphere-sandbox-test", Roles: "vsphere-sandbox-test", Labels: map[string]string{"a": "b"}}
	for _, o := range []Options{{Program: programs.Program{Own: true}}, {Program: programs.Program{Path: "/x"}}} {
		for _, object := range place.Rights(o, true) {
			m := object.(metav1.Object)
			if m.GetNamespace() == "kube-system" || m.GetLabels()["a"] != "b" {
				t.Errorf("%s: labels %v", objectKey(object), m.GetLabels())
			}
			if m.GetNamespace() != "vsphere-sandbox-test" && !strings.HasPrefix(m.GetName(), "vsphere-sandbox-test") {
				t.Errorf("%s does not carry the sandbox's name", objectKey(object))
			}
		}
	}
}

// A swap takes the rights of the old program away.
func TestGrant(t *testing.T) {
	p := newProcesses(t)
	for _, o := range []Options{Options{}.WithDefaults(), {Program: programs.Program{Path: "/x"}}, {Program: programs.Program{Path: "/y"}}} {
		if err := p.grant(t.Context(), o, false); err != nil {
			t.Fatal(err)
		}
		roles, err := p.Cluster().Client().RbacV1().ClusterRoles().List(t.Context(), metav1.ListOptions{})
		if err != nil {
			t.Fatal(err)
		}
		var got, want []string
		for _, r := range roles.Items {
			got = append(got, r.Name)
		}
		for _, object := range p.Place.Rights(o, false) {
			if key := objectKey(object); strings.HasPrefix(key, "*v1.ClusterRole ") {
				want = append(want, strings.TrimPrefix(key, "*v1.ClusterRole /"))
			}
		}
		slices.Sort(want)
		slices.Sort(got)
		if !slices.Equal(got, want) {
			t.Errorf("%s: %q, want %q", o.Name(), got, want)
		}
	}
}

// Only a program with an image can run as pods.
func TestHasImage(t *testing.T) {
	program := programs.Program{Path: "/bin/ccm", Source: "./ccm"}
	for name, tc := range map[string]struct {
		o    Options
		want bool
	}{
		"built-in":        {Options{}, true},
		"program":         {Options{Program: program}, false},
		"with a manifest": {Options{Program: program, Manifest: []byte("kind: DaemonSet")}, true},
		"watched":         {Options{Watch: "/bin/ccm"}, false},
	} {
		if got := tc.o.WithDefaults().HasImage(); got != tc.want {
			t.Errorf("%s: %t", name, got)
		}
	}
	for component, want := range map[string]bool{"ccm": true, "ccm-2": true, "csi-controller": false, "ccmx": false} {
		if got := IsReplica(component); got != want {
			t.Errorf("%s: a cloud controller manager: %t", component, got)
		}
	}
}

func TestRefused(t *testing.T) {
	p := newProcesses(t)
	plain := filepath.Join(t.TempDir(), "plain")
	if err := os.WriteFile(plain, []byte("text"), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, r := range []api.CCMRequest{{Replicas: -1}, {Replicas: MaxReplicas + 1}, {Path: "/nonexistent/ccm"}, {Path: plain}} {
		_, err := p.Swap(t.Context(), r)
		requireCode(t, fmt.Sprintf("%+v", r), err, "invalid")
	}
	_, err := p.Restart(t.Context())
	requireCode(t, "restart of none", err, "conflict")
	requireCode(t, "scale", p.Scale(t.Context(), 2), "unavailable")
	requireCode(t, "scale", p.Scale(t.Context(), 0), "invalid")
	p.Ready = func() error { return &api.Error{Code: "not-ready"} }
	_, err = p.Swap(t.Context(), api.CCMRequest{})
	requireCode(t, "swap", err, "not-ready")
	_, err = p.Restart(t.Context())
	requireCode(t, "restart", err, "not-ready")
	if events, _ := p.Log.Read(0, 0); len(events) > 0 {
		t.Errorf("something was done: %+v", events)
	}
}

// A change that needs a restart gets one, for any number of Secrets with the Event. Without a change it gets none.
func TestNeedsRestart(t *testing.T) {
	p := newProcesses(t)
	p.Components.Command = []string{"-test.run=^$", "--"} // the new process does nothing
	p.sleeping(t, "1")
	p.update(func() { p.running = Options{}.WithDefaults() })
	p.NeedsRestart(p.event(event.Info, "needs-restart", 0, "before a change"))
	p.ConfigChanged()
	reported := p.event(event.Info, "needs-restart", 0, "")
	p.NeedsRestart(reported)
	p.NeedsRestart(reported)

	var restart uint64
	var all []string
	for after := reported; !slices.Contains(all, "child.started"); {
		events, _, err := p.Log.Wait(t.Context(), after, 1)
		if err != nil {
			t.Fatal(err)
		}
		e := events[0]
		after = e.Seq
		want := restart
		if e.Kind == "ccm.restart" {
			restart, want = e.Seq, reported
		}
		all = append(all, e.Kind)
		if e.Cause != want {
			t.Errorf("%s: cause %d, want %d", e.Kind, e.Cause, want)
		}
	}
	if want := []string{"ccm.restart", "child.stopped", "child.started"}; !slices.Equal(all, want) {
		t.Errorf("events %v, want %v", all, want)
	}
}

// A replica whose port another process has taken gets another port.
func TestPortTaken(t *testing.T) {
	p := newProcesses(t)
	script := filepath.Join(t.TempDir(), "ccm")
	// The first process logs what a cloud controller manager logs when its port is taken. The others run.
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
	if err := p.launch(Options{Program: programs.Program{Path: script}, Replicas: 1}, false, 0); err != nil {
		t.Fatal(err)
	}
	first := p.all()[0]
	for after := uint64(0); ; {
		now := p.find(Component)
		if now != first && now.port != first.port && p.Child(Component) != nil && p.Child(Component).PID() != 0 {
			return
		}
		events, _, err := p.Log.Wait(t.Context(), after, 1)
		if err != nil {
			t.Fatal(err)
		}
		after = events[0].Seq
	}
}

// A copy of a watched program is kept as long as it runs.
func TestKeepBuild(t *testing.T) {
	p := newProcesses(t)
	path := filepath.Join(t.TempDir(), "ccm")
	build := func(text string) programs.Program {
		t.Helper()
		if err := os.WriteFile(path, []byte("#!/bin/sh\n"+text), 0o755); err != nil {
			t.Fatal(err)
		}
		source, err := programs.CCM.Parse(path)
		if err != nil {
			t.Fatal(err)
		}
		p, err := source.Resolve(t.Context(), programs.Options{})
		if err != nil {
			t.Fatal(err)
		}
		return p
	}
	built := build("one")
	one, err := programs.Keep(t.Context(), p.builds(), built)
	if err != nil || one.Path == path || one.Source != path || one.Digest != built.Digest {
		t.Fatalf("%+v, %v", one, err)
	}
	two, err := programs.Keep(t.Context(), p.builds(), build("two"))
	if err != nil {
		t.Fatal(err)
	}
	if _, err := programs.Keep(t.Context(), p.builds(), built); err == nil {
		t.Error("another program was taken for it")
	}
	if err := programs.DropKept(p.builds(), two.Path); err != nil {
		t.Error(err)
	}
	all, err := filepath.Glob(filepath.Join(p.builds(), "*"))
	if err != nil || len(all) != 1 || all[0] != two.Path {
		t.Errorf("%v, %v, want %s", all, err, two.Path)
	}
	if b, err := os.ReadFile(two.Path); err != nil || string(b) != "#!/bin/sh\ntwo" {
		t.Errorf("%q, %v", b, err)
	}
}

// With [Options.None] the sandbox creates nothing. A swap names the object that the user has to create.
func TestAdopt(t *testing.T) {
	p := newProcesses(t)
	p.Options.None = true
	if err := p.Start(t.Context()); err != nil {
		t.Fatal(err)
	}
	client := p.Cluster().Client().(*fake.Clientset)
	if all := client.Actions(); len(all) > 0 {
		t.Errorf("the cluster is asked: %v", all)
	}
	refused := func(what, words string) {
		t.Helper()
		_, err := p.Swap(t.Context(), api.CCMRequest{})
		requireCode(t, what, err, "conflict")
		if err == nil || !strings.Contains(err.Error(), words) {
			t.Errorf("%s: %v", what, err)
		}
	}
	refused("nothing", "there is no ConfigMap kube-system/vsphere-cloud-config with a key vsphere.conf")
	config := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: cloudconfig.Namespace, Name: cloudconfig.ConfigMap}, Data: map[string]string{"other": "x"}}
	maps := client.CoreV1().ConfigMaps(cloudconfig.Namespace)
	if _, err := maps.Create(t.Context(), config, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	refused("another key", "there is no ConfigMap")
	config.Data = map[string]string{cloudconfig.Key: "mine"}
	if _, err := maps.Update(t.Context(), config, metav1.UpdateOptions{}); err != nil {
		t.Fatal(err)
	}
	refused("no account", "there is no ServiceAccount kube-system/cloud-controller-manager")
	account := &corev1.ServiceAccount{ObjectMeta: metav1.ObjectMeta{Namespace: cloudconfig.Namespace, Name: ServiceAccount}}
	if _, err := client.CoreV1().ServiceAccounts(cloudconfig.Namespace).Create(t.Context(), account, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(p.ConfigFile, []byte("mine"), 0o600); err != nil {
		t.Fatal(err)
	}
	for range 2 { // the second time is a second swap
		if err := p.adopt(t.Context()); err != nil {
			t.Fatal(err)
		}
		if _, err := os.Stat(p.Account().File); err != nil {
			t.Error(err)
		}
	}
	for _, a := range client.Actions() {
		if a.GetVerb() == "create" && strings.Contains(a.GetResource().Group, "rbac") {
			t.Errorf("rights are granted: %v", a)
		}
	}
}
