package sandbox

import (
	"net/http"
	"net/http/httptest"
	"net/netip"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes/fake"

	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/sandbox/api"
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

// In a cluster that others use their Nodes, and those of another sandbox, are none of ours.
func TestForeign(t *testing.T) {
	ours := map[string]string{"app.kubernetes.io/managed-by": "vsphere-sandbox", "app.kubernetes.io/instance": "mine"}
	others := map[string]string{"app.kubernetes.io/managed-by": "vsphere-sandbox", "app.kubernetes.io/instance": "others"}
	in, own := &Sandbox{opts: Options{Name: "mine", Cluster: Cluster{Pod: &Pod{}}}}, &Sandbox{opts: Options{Name: "mine"}}
	for _, tc := range []struct {
		s      *Sandbox
		labels map[string]string
		want   bool
	}{{in, ours, false}, {in, others, true}, {in, nil, true}, {own, nil, false}} {
		n := &corev1.Node{}
		n.Labels = tc.labels
		if got := tc.s.foreign(n); got != tc.want {
			t.Errorf("%v: %v", tc.labels, got)
		}
	}
}

// A topology whose VM would have the name of somebody else's Node is refused before anything is done; one of ours is no
// hindrance.
func TestApplyNamesOfOthers(t *testing.T) {
	s, c, text := applied(t)
	s.opts.Cluster.Pod = &Pod{}
	names := []string{}
	for _, r := range s.topology().Nodes() {
		names = append(names, strings.ToLower(r.VM.Hostname))
	}
	ours := &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: names[0], Labels: map[string]string{
		"app.kubernetes.io/managed-by": "vsphere-sandbox", "app.kubernetes.io/instance": s.opts.Name,
	}}}
	s.cluster = objectStore{client: fake.NewClientset(ours, &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: "machine-1"}})}
	if _, err := lines(t.Context(), c, api.ApplyRequest{Topology: text, DryRun: true}); err != nil {
		t.Error(err)
	}
	s.cluster = objectStore{client: fake.NewClientset(ours, &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: names[1]}})}
	_, err := lines(t.Context(), c, api.ApplyRequest{Topology: text})
	requireCode(t, "another's name", err, "conflict")
}

func TestPodOptions(t *testing.T) {
	good := Pod{Name: "p", Namespace: "ns", Node: "n", FeedDir: "/f", IP: netip.MustParseAddr("10.0.0.1"), ControlPort: 10280, FeedPort: 10281}
	if err := good.validate(); err != nil {
		t.Error(err)
	}
	for what, spoil := range map[string]func(*Pod){
		"name": func(p *Pod) { p.Name = "" }, "node": func(p *Pod) { p.Node = "" }, "feed": func(p *Pod) { p.FeedDir = "" },
		"loopback": func(p *Pod) { p.IP = netip.MustParseAddr("127.0.0.1") }, "address": func(p *Pod) { p.IP = netip.Addr{} },
		"port": func(p *Pod) { p.FeedPort = 80 },
	} {
		bad := good
		spoil(&bad)
		if bad.validate() == nil {
			t.Errorf("%s: accepted", what)
		}
	}
}
