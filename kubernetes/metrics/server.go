package metrics

import (
	"cmp"
	"context"
	"crypto/tls"
	"crypto/x509"
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	utilnet "k8s.io/apimachinery/pkg/util/net"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/metadata"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"
	metricsv1beta1 "k8s.io/metrics/pkg/apis/metrics/v1beta1"

	"github.com/vsphere-sandbox/vsphere-sandbox/internal/kubernetes/contract"
)

// frontProxy is the name in the certificate of the aggregator.
const frontProxy = "front-proxy-client"

// Run serves the API until ctx ends. dial reaches kubelets by the names of their Nodes.
func Run(ctx context.Context, cfg contract.ControlPlane, dial utilnet.DialFunc) error {
	pki := func(name string) string { return filepath.Join(cfg.PKI, name) }
	rc, err := clientcmd.BuildConfigFromFlags("", pki("metrics-server.kubeconfig"))
	if err != nil {
		return err
	}
	rc.UserAgent = "metrics-server"
	rc.QPS = -1 // requests follow those of others, which the API server has limited
	s, err := newServer(rc, dial)
	if err != nil {
		return err
	}
	pair, err := tls.LoadX509KeyPair(pki("metrics-server.crt"), pki("metrics-server.key"))
	if err != nil {
		return err
	}
	authority, err := os.ReadFile(pki("front-proxy-ca.crt"))
	if err != nil {
		return err
	}
	aggregators := x509.NewCertPool()
	aggregators.AppendCertsFromPEM(authority)
	if err := os.Remove(cfg.Metrics); err != nil && !errors.Is(err, os.ErrNotExist) { // of an earlier process
		return err
	}
	l, err := net.ListenUnix("unix", &net.UnixAddr{Net: "unix", Name: cfg.Metrics})
	if err == nil {
		err = os.Chmod(cfg.Metrics, 0o600)
	}
	if err != nil {
		return err
	}
	server := http.Server{Handler: s, ReadHeaderTimeout: 10 * time.Second, IdleTimeout: 90 * time.Second}
	server.TLSConfig = &tls.Config{
		MinVersion: tls.VersionTLS12, Certificates: []tls.Certificate{pair}, ClientAuth: tls.RequireAndVerifyClientCert, ClientCAs: aggregators,
		VerifyConnection: func(c tls.ConnectionState) error {
			if name := c.PeerCertificates[0].Subject.CommonName; name != frontProxy {
				return fmt.Errorf("client %q: only the API server's aggregator is served", name)
			}
			return nil
		},
	}
	defer context.AfterFunc(ctx, func() { _ = server.Close() })()
	if err := server.ServeTLS(l, "", ""); !errors.Is(err, http.ErrServerClosed) {
		return err
	}
	return nil
}

// server is the handler of the API.
type server struct {
	mux     http.ServeMux
	scraper *scraper
	objects metadata.Interface
}

func newServer(rc *rest.Config, dial utilnet.DialFunc) (*server, error) {
	protobuf := rest.CopyConfig(rc)
	protobuf.ContentType = "application/vnd.kubernetes.protobuf"
	client, err := kubernetes.NewForConfig(protobuf)
	if err != nil {
		return nil, err
	}
	objects, err := metadata.NewForConfig(protobuf)
	if err != nil {
		return nil, err
	}
	// Kubelets have certificates of the same authority as the API server, and take the same client certificate.
	kubelets, err := rest.TLSConfigFor(rc)
	if err != nil {
		return nil, err
	}
	s := &server{objects: objects}
	s.scraper = newScraper(client, &http.Client{Transport: &http.Transport{DialContext: dial, TLSClientConfig: kubelets, IdleConnTimeout: longest, ForceAttemptHTTP2: true}})
	// The aggregator asks for these, and logs an error without them.
	s.mux.HandleFunc("GET /openapi/v2", answer(func(*http.Request) (any, error) {
		return map[string]any{"swagger": "2.0", "info": map[string]string{"title": "metrics-server", "version": version.Version}, "paths": map[string]any{}}, nil
	}))
	s.mux.HandleFunc("GET /openapi/v3", answer(func(*http.Request) (any, error) { return map[string]any{"paths": map[string]any{}}, nil }))
	const at = "GET /apis/metrics.k8s.io"
	s.mux.HandleFunc(at, answer(func(*http.Request) (any, error) { return group(), nil }))
	s.mux.HandleFunc(at+"/v1beta1", answer(func(*http.Request) (any, error) { return resources(), nil }))
	s.mux.HandleFunc(at+"/v1beta1/nodes", answer(s.listNodes))
	s.mux.HandleFunc(at+"/v1beta1/nodes/{name}", answer(s.getNode))
	s.mux.HandleFunc(at+"/v1beta1/pods", answer(s.listPods))
	s.mux.HandleFunc(at+"/v1beta1/namespaces/{namespace}/pods", answer(s.listPods))
	s.mux.HandleFunc(at+"/v1beta1/namespaces/{namespace}/pods/{name}", answer(s.getPod))
	return s, nil
}

func (s *server) ServeHTTP(w http.ResponseWriter, r *http.Request) { s.mux.ServeHTTP(w, r) }

// answer writes what f returns in JSON: the only encoding of this API. Clients negotiate.
func answer(f func(*http.Request) (any, error)) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		code := http.StatusOK
		var body any
		var err error
		if watch := r.URL.Query().Get("watch"); watch != "" && watch != "false" && watch != "0" {
			err = apierrors.NewMethodNotSupported(metricsv1beta1.Resource("metrics"), "watch")
		} else {
			body, err = f(r)
		}
		if err != nil {
			var status apierrors.APIStatus
			if !errors.As(err, &status) {
				status = apierrors.NewInternalError(err)
			}
			s := status.Status()
			s.Kind, s.APIVersion = "Status", "v1"
			body, code = s, cmp.Or(int(s.Code), http.StatusInternalServerError)
		}
		w.Header().Set("Content-Type", "application/json")
		w.WriteHeader(code)
		_ = json.NewEncoder(w).Encode(body) // an error is that of a client that is gone
	}
}

var version = metricsv1beta1.SchemeGroupVersion

func group() metav1.APIGroup {
	v := metav1.GroupVersionForDiscovery{GroupVersion: version.String(), Version: version.Version}
	return metav1.APIGroup{
		TypeMeta: metav1.TypeMeta{Kind: "APIGroup", APIVersion: "v1"}, Name: version.Group,
		Versions: []metav1.GroupVersionForDiscovery{v}, PreferredVersion: v,
	}
}

func resources() metav1.APIResourceList {
	verbs := metav1.Verbs{"get", "list"}
	return metav1.APIResourceList{
		TypeMeta: metav1.TypeMeta{Kind: "APIResourceList", APIVersion: "v1"}, GroupVersion: version.String(),
		APIResources: []metav1.APIResource{
			{Name: "nodes", Kind: "NodeMetrics", Verbs: verbs},
			{Name: "pods", Namespaced: true, Kind: "PodMetrics", Verbs: verbs},
		},
	}
}

func typeMeta(kind string) metav1.TypeMeta {
	return metav1.TypeMeta{Kind: kind, APIVersion: version.String()}
}

// list returns the objects that the request selects, by the selectors of the API server.
func (s *server) list(r *http.Request, of string) ([]metav1.PartialObjectMetadata, error) {
	q := r.URL.Query()
	o := metav1.ListOptions{LabelSelector: q.Get("labelSelector"), FieldSelector: q.Get("fieldSelector")}
	if o.FieldSelector == "" {
		o.ResourceVersion = "0"
	}
	got, err := s.objects.Resource(corev1.SchemeGroupVersion.WithResource(of)).Namespace(r.PathValue("namespace")).List(r.Context(), o)
	if err != nil {
		return nil, err
	}
	return got.Items, nil
}

// get returns one object.
func (s *server) get(r *http.Request, of string) (*metav1.PartialObjectMetadata, error) {
	return s.objects.Resource(corev1.SchemeGroupVersion.WithResource(of)).Namespace(r.PathValue("namespace")).
		Get(r.Context(), r.PathValue("name"), metav1.GetOptions{ResourceVersion: "0"})
}

func (s *server) listNodes(r *http.Request) (any, error) {
	nodes, err := s.list(r, "nodes")
	if err != nil {
		return nil, err
	}
	windows, err := s.scraper.windows(r.Context())
	if err != nil {
		return nil, err
	}
	out := metricsv1beta1.NodeMetricsList{TypeMeta: typeMeta("NodeMetricsList"), Items: []metricsv1beta1.NodeMetrics{}}
	for _, n := range nodes {
		if m, ok := ofNode(n, windows); ok {
			out.Items = append(out.Items, m)
		}
	}
	return out, nil
}

func (s *server) getNode(r *http.Request) (any, error) {
	n, err := s.get(r, "nodes")
	if err != nil {
		return nil, renamed(err, "nodes", r)
	}
	windows, err := s.scraper.windows(r.Context())
	if err != nil {
		return nil, err
	}
	m, ok := ofNode(*n, windows)
	if !ok {
		err := apierrors.NewNotFound(metricsv1beta1.Resource("nodes"), n.Name)
		if cause := windows[n.Name].err; cause != nil {
			err.ErrStatus.Message += ": " + cause.Error()
		}
		return nil, err
	}
	m.TypeMeta = typeMeta("NodeMetrics")
	return m, nil
}

func (s *server) listPods(r *http.Request) (any, error) {
	pods, err := s.list(r, "pods")
	if err != nil {
		return nil, err
	}
	windows, err := s.scraper.windows(r.Context())
	if err != nil {
		return nil, err
	}
	all := byPod(windows)
	out := metricsv1beta1.PodMetricsList{TypeMeta: typeMeta("PodMetricsList"), Items: []metricsv1beta1.PodMetrics{}}
	for _, p := range pods {
		if m, ok := ofPod(p, all); ok {
			out.Items = append(out.Items, m)
		}
	}
	return out, nil
}

func (s *server) getPod(r *http.Request) (any, error) {
	p, err := s.get(r, "pods")
	if err != nil {
		return nil, renamed(err, "pods", r)
	}
	windows, err := s.scraper.windows(r.Context())
	if err != nil {
		return nil, err
	}
	m, ok := ofPod(*p, byPod(windows))
	if !ok {
		return nil, apierrors.NewNotFound(metricsv1beta1.Resource("pods"), p.Namespace+"/"+p.Name)
	}
	m.TypeMeta = typeMeta("PodMetrics")
	return m, nil
}

// renamed turns "no such object" into "no metrics of it".
func renamed(err error, of string, r *http.Request) error {
	if !apierrors.IsNotFound(err) {
		return err
	}
	return apierrors.NewNotFound(schema.GroupResource{Group: version.Group, Resource: of}, r.PathValue("name"))
}

func ofNode(n metav1.PartialObjectMetadata, windows map[string]window) (m metricsv1beta1.NodeMetrics, ok bool) {
	w := windows[n.Name]
	if w.now == nil || w.before == nil {
		return m, false
	}
	cores, length, ok := w.now.node.since(w.before.node)
	m.ObjectMeta = metav1.ObjectMeta{Name: n.Name, Labels: n.Labels, CreationTimestamp: metav1.Now()}
	m.Timestamp, m.Window, m.Usage = metav1.NewTime(w.now.node.at), metav1.Duration{Duration: length}, amounts(cores, w.now.node.memory)
	return m, ok
}

// measured is the use of one container in its window.
type measured struct {
	name   string
	cores  float64
	window time.Duration
	usage
}

type podKey struct{ namespace, name string }

// byPod returns the containers of each pod, by name. A pod with a container that has no use yet has none.
func byPod(windows map[string]window) map[podKey][]measured {
	all, incomplete := map[podKey][]measured{}, map[podKey]bool{}
	for _, w := range windows {
		if w.now == nil {
			continue
		}
		for c, u := range w.now.containers {
			pod := podKey{c.namespace, c.pod}
			before := usage{}
			if w.before != nil {
				before = w.before.containers[c]
			}
			cores, length, ok := u.since(before)
			if !ok {
				incomplete[pod] = true
			}
			all[pod] = append(all[pod], measured{c.name, cores, length, u})
		}
	}
	for pod := range incomplete {
		delete(all, pod)
	}
	for _, containers := range all {
		slices.SortFunc(containers, func(a, b measured) int { return cmp.Compare(a.name, b.name) })
	}
	return all
}

func ofPod(p metav1.PartialObjectMetadata, all map[podKey][]measured) (m metricsv1beta1.PodMetrics, ok bool) {
	containers := all[podKey{p.Namespace, p.Name}]
	m.ObjectMeta = metav1.ObjectMeta{Namespace: p.Namespace, Name: p.Name, Labels: p.Labels, CreationTimestamp: metav1.Now()}
	for _, c := range containers {
		if m.Timestamp.IsZero() || c.at.Before(m.Timestamp.Time) {
			m.Timestamp, m.Window = metav1.NewTime(c.at), metav1.Duration{Duration: c.window}
		}
		m.Containers = append(m.Containers, metricsv1beta1.ContainerMetrics{Name: c.name, Usage: amounts(c.cores, c.memory)})
	}
	return m, len(containers) > 0
}

func amounts(cores, memory float64) corev1.ResourceList {
	return corev1.ResourceList{
		corev1.ResourceCPU:    *resource.NewScaledQuantity(int64(cores*1e9), resource.Nano),
		corev1.ResourceMemory: *resource.NewQuantity(int64(memory)&^1023, resource.BinarySI),
	}
}
