package metrics

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
	metricsv1beta1 "k8s.io/metrics/pkg/apis/metrics/v1beta1"
)

func TestParse(t *testing.T) {
	got, err := parse(strings.NewReader(`# HELP container_cpu_usage_seconds_total [STABLE] Cumulative cpu time
# TYPE container_cpu_usage_seconds_total counter
container_cpu_usage_seconds_total{container="c",namespace="ns",pod="p-0"} 1.5e+1 1700000001500
container_memory_working_set_bytes{container="c",namespace="ns",pod="p-0"} 4.194304e+06 1700000001500
container_start_time_seconds{container="c",namespace="ns",pod="p-0"} 1.7e+09
pod_cpu_usage_seconds_total{namespace="ns",pod="p-0"} 15 1700000001500
node_cpu_usage_seconds_total 2 1700000002000
node_memory_working_set_bytes 1024
resource_scrape_error 0
`), time.Unix(1700000003, 0))
	if err != nil {
		t.Fatal(err)
	}
	c := got.containers[container{"ns", "p-0", "c"}]
	if len(got.containers) != 1 || c.cpu != 15 || c.memory != 4<<20 || !c.start.Equal(time.Unix(1700000000, 0)) || !c.at.Equal(time.UnixMilli(1700000001500)) {
		t.Errorf("containers %+v", got.containers)
	}
	if got.node.cpu != 2 || got.node.memory != 1024 || !got.node.at.Equal(time.Unix(1700000003, 0)) {
		t.Errorf("node %+v", got.node)
	}
	for _, bad := range []string{
		"node_cpu_usage_seconds_total", "node_cpu_usage_seconds_total x", "node_cpu_usage_seconds_total 1 x", `node_cpu_usage_seconds_total{a="b"} 1`,
		"container_cpu_usage_seconds_total 1", `container_cpu_usage_seconds_total{container="c"`, strings.Repeat("x", 2*maxLine),
	} {
		if got, err := parse(strings.NewReader(bad), time.Now()); err == nil {
			t.Errorf("%.60q: %+v", bad, got)
		}
	}
}

func TestSince(t *testing.T) {
	at := func(s float64) time.Time { return time.UnixMilli(int64(s * 1000)) }
	for name, tc := range map[string]struct {
		before, now usage
		cores       float64
		window      time.Duration
		ok          bool
	}{
		"two readings":             {usage{at: at(10), cpu: 5}, usage{at: at(20), cpu: 7}, 0.2, 10 * time.Second, true},
		"one time":                 {usage{at: at(10), cpu: 5}, usage{at: at(10), cpu: 5}, 0, 0, false},
		"first reading of a VM":    {usage{}, usage{at: at(10), cpu: 5}, 0, 0, false},
		"a container that is new":  {usage{}, usage{at: at(10), cpu: 1, start: at(8)}, 0.5, 2 * time.Second, true},
		"a container's restart":    {usage{at: at(10), cpu: 50, start: at(1)}, usage{at: at(20), cpu: 60, start: at(5)}, 4, 15 * time.Second, true},
		"a VM that booted between": {usage{at: at(10), cpu: 50}, usage{at: at(20), cpu: 1}, 0, 0, false},
	} {
		if cores, window, ok := tc.now.since(tc.before); cores != tc.cores || window != tc.window || ok != tc.ok {
			t.Errorf("%s: %v, %v, %t", name, cores, window, ok)
		}
	}
}

// rig is a server with an API server that has two nodes and two pods, of which one node answers.
func rig(t *testing.T) (ask func(path string, into any) int, reads func() int) {
	t.Helper()
	api := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		meta := func(namespace, name string) metav1.ObjectMeta {
			return metav1.ObjectMeta{Namespace: namespace, Name: name, Labels: map[string]string{"app": name}}
		}
		partial := func(m metav1.ObjectMeta) metav1.PartialObjectMetadata {
			return metav1.PartialObjectMetadata{TypeMeta: metav1.TypeMeta{APIVersion: "meta.k8s.io/v1", Kind: "PartialObjectMetadata"}, ObjectMeta: m}
		}
		listed := metav1.TypeMeta{APIVersion: "meta.k8s.io/v1", Kind: "PartialObjectMetadataList"}
		var body any
		switch selector := r.URL.Query().Get("labelSelector"); {
		case r.URL.Path == "/api/v1/nodes" && !strings.Contains(r.Header.Get("Accept"), "PartialObject"):
			body = corev1.NodeList{TypeMeta: metav1.TypeMeta{APIVersion: "v1", Kind: "NodeList"}, Items: []corev1.Node{{ObjectMeta: meta("", "on")}, {ObjectMeta: meta("", "off")}}}
		case r.URL.Path == "/api/v1/nodes":
			body = metav1.PartialObjectMetadataList{TypeMeta: listed, Items: []metav1.PartialObjectMetadata{partial(meta("", "on")), partial(meta("", "off"))}}
		case r.URL.Path == "/api/v1/nodes/on" || r.URL.Path == "/api/v1/nodes/off":
			body = partial(meta("", r.URL.Path[len("/api/v1/nodes/"):]))
		case r.URL.Path == "/api/v1/pods" || r.URL.Path == "/api/v1/namespaces/ns/pods":
			list := metav1.PartialObjectMetadataList{TypeMeta: listed}
			for _, name := range []string{"p", "q"} {
				if selector == "" || selector == "app="+name {
					list.Items = append(list.Items, partial(meta("ns", name)))
				}
			}
			body = list
		case r.URL.Path == "/api/v1/namespaces/ns/pods/p":
			body = partial(meta("ns", "p"))
		default:
			w.Header().Set("Content-Type", "application/json")
			w.WriteHeader(http.StatusNotFound)
			body = metav1.Status{TypeMeta: metav1.TypeMeta{APIVersion: "v1", Kind: "Status"}, Status: "Failure", Reason: metav1.StatusReasonNotFound, Code: 404}
		}
		w.Header().Set("Content-Type", "application/json")
		_ = json.NewEncoder(w).Encode(body)
	}))
	t.Cleanup(api.Close)
	count := 0
	start := time.Now().Add(-time.Minute)
	kubelet := httptest.NewTLSServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path != "/metrics/resource" {
			t.Errorf("asked for %s", r.URL.Path)
		}
		count++
		now := time.Now()
		fmt.Fprintf(w, "node_cpu_usage_seconds_total %f %d\nnode_memory_working_set_bytes 1048576\n", now.Sub(start).Seconds()/2, now.UnixMilli())
		labels := `{container="c",namespace="ns",pod="p"}`
		fmt.Fprintf(w, "container_cpu_usage_seconds_total%s 6 %d\ncontainer_memory_working_set_bytes%s 4097\ncontainer_start_time_seconds%s %f\n",
			labels, now.UnixMilli(), labels, labels, float64(start.UnixMilli())/1000)
	}))
	t.Cleanup(kubelet.Close)
	s, err := newServer(&rest.Config{Host: api.URL}, nil)
	if err != nil {
		t.Fatal(err)
	}
	client, err := kubernetes.NewForConfig(&rest.Config{Host: api.URL})
	if err != nil {
		t.Fatal(err)
	}
	insecure := kubelet.Client().Transport.(*http.Transport).Clone()
	insecure.TLSClientConfig.InsecureSkipVerify = true
	insecure.DialContext = func(ctx context.Context, _, addr string) (net.Conn, error) {
		if addr != "on:10250" {
			return nil, fmt.Errorf("%s: VM is off", addr)
		}
		return (&net.Dialer{}).DialContext(ctx, "tcp", kubelet.Listener.Addr().String())
	}
	s.scraper = newScraper(client, &http.Client{Transport: insecure})
	front := httptest.NewServer(s)
	t.Cleanup(front.Close)
	return func(path string, into any) int {
		t.Helper()
		res, err := http.Get(front.URL + path)
		if err != nil {
			t.Fatal(err)
		}
		defer res.Body.Close()
		body, err := io.ReadAll(res.Body)
		if err == nil && into != nil {
			err = json.Unmarshal(body, into)
		}
		if err != nil {
			t.Fatalf("%s: %v: %s", path, err, body)
		}
		return res.StatusCode
	}, func() int { return count }
}

func TestAPI(t *testing.T) {
	ask, reads := rig(t)
	const at = "/apis/metrics.k8s.io"
	var resources metav1.APIResourceList
	if code := ask(at+"/v1beta1", &resources); code != http.StatusOK || len(resources.APIResources) != 2 {
		t.Errorf("discovery: %d, %+v", code, resources)
	}
	if code := ask("/openapi/v2", nil); code != http.StatusOK {
		t.Errorf("openapi: %d", code)
	}
	if reads() != 0 {
		t.Error("kubelets are read without a request for metrics")
	}
	var nodes metricsv1beta1.NodeMetricsList
	if code := ask(at+"/v1beta1/nodes", &nodes); code != http.StatusOK || len(nodes.Items) != 1 {
		t.Fatalf("nodes: %d, %+v", code, nodes)
	}
	n := nodes.Items[0]
	if cpu := n.Usage.Cpu().MilliValue(); n.Name != "on" || cpu < 490 || cpu > 510 || n.Usage.Memory().Value() != 1<<20 || n.Window.Duration < shortest || n.Labels["app"] != "on" {
		t.Errorf("node %+v", n)
	}
	if reads() != 2 {
		t.Errorf("%d readings, want 2", reads())
	}
	var pods metricsv1beta1.PodMetricsList
	for path, want := range map[string]int{"/pods": 1, "/namespaces/ns/pods": 1, "/pods?labelSelector=app%3Dp": 1, "/pods?labelSelector=app%3Dq": 0} {
		if code := ask(at+"/v1beta1"+path, &pods); code != http.StatusOK || len(pods.Items) != want {
			t.Errorf("%s: %d, %+v", path, code, pods)
		}
	}
	var pod metricsv1beta1.PodMetrics
	if code := ask(at+"/v1beta1/namespaces/ns/pods/p", &pod); code != http.StatusOK || pod.Kind != "PodMetrics" || len(pod.Containers) != 1 {
		t.Fatalf("pod: %d, %+v", code, pod)
	}
	if c := pod.Containers[0]; c.Name != "c" || c.Usage.Memory().Value() != 4096 {
		t.Errorf("container %+v", c)
	}
	if reads() != 2 {
		t.Errorf("%d readings, want those that are fresh", reads())
	}
	for path, want := range map[string]int{
		"/nodes/off": 404, "/nodes/none": 404, "/namespaces/ns/pods/none": 404, "/nodes?watch=true": 405, "/nodes/on": 200, "/other": 404,
	} {
		if code := ask(at+"/v1beta1"+path, nil); code != want {
			t.Errorf("%s: %d, want %d", path, code, want)
		}
	}
	var status metav1.Status
	if ask(at+"/v1beta1/nodes/off", &status); !strings.HasSuffix(status.Message, "off:10250: VM is off") {
		t.Errorf("a node that is off: %q", status.Message)
	}
}
