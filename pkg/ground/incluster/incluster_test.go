package incluster

import (
	"errors"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes/fake"

	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/sandbox/api"
	"github.com/vsphere-sandbox/vsphere-sandbox/scenarios"
)

func TestFeedTakesTheToken(t *testing.T) {
	h := withToken([]byte("secret"), http.HandlerFunc(func(http.ResponseWriter, *http.Request) {}))
	for header, want := range map[string]int{"Bearer secret": 200, "Bearer secrets": 401, "Bearer ": 401, "secret": 401, "": 401} {
		r, w := httptest.NewRequest(http.MethodGet, "/", nil), httptest.NewRecorder()
		r.Header.Set("Authorization", header)
		if h.ServeHTTP(w, r); w.Code != want {
			t.Errorf("%q: %d", header, w.Code)
		}
	}
}

// Nodes of the cluster, and those of another sandbox, are foreign.
func TestForeign(t *testing.T) {
	g := New(Config{Sandbox: "mine"})
	labels := func(instance string) map[string]string {
		return map[string]string{"app.kubernetes.io/managed-by": "vsphere-sandbox", "app.kubernetes.io/instance": instance}
	}
	for _, tc := range []struct {
		labels map[string]string
		want   bool
	}{{labels("mine"), false}, {labels("others"), true}, {nil, true}} {
		n := &corev1.Node{}
		n.Labels = tc.labels
		if got := g.Foreign(n); got != tc.want {
			t.Errorf("%v: %v", tc.labels, got)
		}
	}
}

// A topology whose VM would have the name of a foreign Node is refused; a Node of the sandbox is no hindrance.
func TestNamesFree(t *testing.T) {
	top, err := scenarios.Load("single")
	if err != nil {
		t.Fatal(err)
	}
	var names []string
	for _, r := range top.Nodes() {
		names = append(names, strings.ToLower(r.VM.Hostname))
	}
	ours := &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: names[0], Labels: map[string]string{
		"app.kubernetes.io/managed-by": "vsphere-sandbox", "app.kubernetes.io/instance": "mine",
	}}}
	named := func(name string) *corev1.Node { return &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: name}} }
	g := New(Config{Sandbox: "mine"})
	if err := g.namesFree(t.Context(), fake.NewClientset(ours, named("machine-1")), top); err != nil {
		t.Error(err)
	}
	if err := (*api.Error)(nil); !errors.As(g.namesFree(t.Context(), fake.NewClientset(ours, named(names[1])), top), &err) || err.Code != "conflict" {
		t.Errorf("another's name: %v", err)
	}
}

func TestPodOptions(t *testing.T) {
	good := Options{Name: "p", Namespace: "ns", Node: "n", FeedDir: "/f", IP: netip.MustParseAddr("10.0.0.1"), ControlPort: 10280, FeedPort: 10281}
	if err := good.validate(); err != nil {
		t.Error(err)
	}
	for what, spoil := range map[string]func(*Options){
		"name": func(p *Options) { p.Name = "" }, "node": func(p *Options) { p.Node = "" }, "feed": func(p *Options) { p.FeedDir = "" },
		"loopback": func(p *Options) { p.IP = netip.MustParseAddr("127.0.0.1") }, "address": func(p *Options) { p.IP = netip.Addr{} },
		"port": func(p *Options) { p.FeedPort = 80 },
	} {
		bad := good
		spoil(&bad)
		if bad.validate() == nil {
			t.Errorf("%s: accepted", what)
		}
	}
}
