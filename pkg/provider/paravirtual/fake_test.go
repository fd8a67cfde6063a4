package paravirtual

import (
	"bytes"
	"crypto/tls"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/informers"
	"k8s.io/client-go/kubernetes/fake"

	"github.com/vsphere-sandbox/vsphere-sandbox/internal/cert"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/provider/paravirtual/supervisor"
)

const (
	patience  = 20 * time.Second
	namespace = "team-a"
	cluster   = "guest"
	ownerUID  = "6b3f0f3c-0000-4000-8000-000000000001"
)

func eventually(t testing.TB, what string, cond func() error) {
	t.Helper()
	var err error
	for deadline := time.Now().Add(patience); time.Now().Before(deadline); time.Sleep(5 * time.Millisecond) {
		if err = cond(); err == nil {
			return
		}
	}
	t.Fatalf("not within %s: %s: %v", patience, what, err)
}

type object = map[string]any

// change is a line of the fake's history.
type change struct {
	rv       int
	kind     string
	resource string
	object   []byte
}

// fakeSupervisor is an API server that knows the objects of a namespace, tokens, rights and faults, and nothing else.
type fakeSupervisor struct {
	server *httptest.Server
	ca     *cert.CA
	dir    string

	mu      sync.Mutex
	rv      int
	objects map[string]map[string]object // by resource and namespace/name
	history []change
	more    chan struct{}   // closed at the next change
	tokens  map[string]bool // accepted
	// versions are those that are served, by group.
	versions map[string][]string
	denied   map[string]bool // "verb resource"
	fault    func(http.ResponseWriter, *http.Request) bool
	calls    map[string]int // by "verb resource"
	// react is called with each object that is created or updated, before it is stored.
	react func(resource string, o object)
}

// newSupervisor starts a fake Supervisor with a directory of credentials for it.
func newSupervisor(t testing.TB) *fakeSupervisor {
	t.Helper()
	s := &fakeSupervisor{
		objects: map[string]map[string]object{}, more: make(chan struct{}), tokens: map[string]bool{"token-1": true},
		versions: map[string][]string{"vmoperator.vmware.com": {"v1alpha2"}, "nsx.vmware.com": {"v1alpha1"}, "crd.nsx.vmware.com": {"v1alpha1"}},
		denied:   map[string]bool{}, calls: map[string]int{}, dir: t.TempDir(),
	}
	var err error
	if s.ca, err = cert.NewCA("supervisor"); err != nil {
		t.Fatal(err)
	}
	s.server = httptest.NewUnstartedServer(http.HandlerFunc(s.serve))
	s.server.EnableHTTP2 = true
	s.server.TLS = &tls.Config{Certificates: []tls.Certificate{s.certificate(t)}}
	s.server.StartTLS()
	t.Cleanup(func() {
		s.server.CloseClientConnections()
		s.server.Close()
	})
	s.write(t, "token", "token-1")
	s.write(t, "ca.crt", string(s.ca.Cert))
	s.write(t, "namespace", namespace)
	s.write(t, "ownerref.json", `{"apiVersion":"cluster.x-k8s.io/v1beta1","kind":"Cluster","name":"guest","uid":"`+ownerUID+`"}`)
	return s
}

func (s *fakeSupervisor) certificate(t testing.TB) tls.Certificate {
	t.Helper()
	pair, err := s.ca.Sign(cert.Leaf{CommonName: "supervisor", DNSNames: []string{supervisor.DefaultHost}})
	if err != nil {
		t.Fatal(err)
	}
	return pair.TLS()
}

// write replaces a file of the credentials in one step.
func (s *fakeSupervisor) write(t testing.TB, name, content string) {
	t.Helper()
	path := filepath.Join(s.dir, name)
	if err := os.WriteFile(path+".new", []byte(content), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.Rename(path+".new", path); err != nil {
		t.Fatal(err)
	}
}

func (s *fakeSupervisor) options(t testing.TB) Options {
	t.Helper()
	host, port, err := net.SplitHostPort(s.server.Listener.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	return Options{
		Supervisor:         supervisor.Config{Directory: s.dir, Address: host, Port: port, CallTimeout: 2 * time.Second},
		OwnerReferenceFile: filepath.Join(s.dir, "ownerref.json"),
		ClusterName:        cluster,
		FilePeriod:         10 * time.Millisecond,
		ListPeriod:         20 * time.Millisecond,
	}
}

func (s *fakeSupervisor) set(change func()) {
	s.mu.Lock()
	defer s.mu.Unlock()
	change()
}

func (s *fakeSupervisor) count(call string) int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.calls[call]
}

func status(w http.ResponseWriter, code int, reason metav1.StatusReason, message string) {
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(code)
	_ = json.NewEncoder(w).Encode(metav1.Status{
		TypeMeta: metav1.TypeMeta{APIVersion: "v1", Kind: "Status"}, Status: "Failure", Code: int32(code), Reason: reason, Message: message,
	})
}

func (s *fakeSupervisor) serve(w http.ResponseWriter, r *http.Request) {
	s.mu.Lock()
	fault := s.fault
	known := s.tokens[strings.TrimPrefix(r.Header.Get("Authorization"), "Bearer ")]
	s.mu.Unlock()
	if fault != nil && fault(w, r) {
		return
	}
	if !known {
		status(w, 401, metav1.StatusReasonUnauthorized, "Unauthorized")
		return
	}
	parts := strings.Split(strings.Trim(r.URL.Path, "/"), "/")
	s.mu.Lock()
	versions := s.versions[parts[1]]
	s.mu.Unlock()
	if len(parts) == 2 && len(versions) > 0 {
		group := metav1.APIGroup{Name: parts[1]}
		for _, v := range versions {
			group.Versions = append(group.Versions, metav1.GroupVersionForDiscovery{Version: v})
		}
		_ = json.NewEncoder(w).Encode(group)
		return
	}
	if len(parts) < 6 || !slices.Contains(versions, parts[2]) {
		http.Error(w, "404 page not found", http.StatusNotFound)
		return
	}
	name := ""
	if len(parts) == 7 {
		name = parts[6]
	}
	verb := map[string]string{"GET": "get", "POST": "create", "PUT": "update", "DELETE": "delete"}[r.Method]
	switch {
	case r.URL.Query().Get("watch") != "":
		verb = "watch"
	case verb == "get" && name == "":
		verb = "list"
	}
	resource := parts[5]
	s.mu.Lock()
	s.calls[verb+" "+resource]++
	denied := s.denied[verb+" "+resource]
	s.mu.Unlock()
	if denied {
		status(w, 403, metav1.StatusReasonForbidden, fmt.Sprintf("%s is forbidden: User cannot %s", resource, verb))
		return
	}
	if verb == "watch" {
		s.watch(w, r, parts[4], resource)
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.answer(w, r, verb, resource, parts[4], name)
}

// answer serves all but watches.
func (s *fakeSupervisor) answer(w http.ResponseWriter, r *http.Request, verb, resource, ns, name string) {
	in := json.NewDecoder(r.Body)
	key := ns + "/" + name
	have := s.objects[resource][key]
	if name != "" && have == nil {
		status(w, 404, metav1.StatusReasonNotFound, fmt.Sprintf("%s %q not found", resource, name))
		return
	}
	reply := func(o any) {
		w.Header().Set("Content-Type", "application/json")
		_ = json.NewEncoder(w).Encode(o)
	}
	switch verb {
	case "get":
		reply(have)
	case "list":
		selector, _ := labels.Parse(r.URL.Query().Get("labelSelector"))
		items := []object{}
		for _, key := range slices.Sorted(maps.Keys(s.objects[resource])) {
			if u := (&unstructured.Unstructured{Object: s.objects[resource][key]}); u.GetNamespace() == ns && selector.Matches(labels.Set(u.GetLabels())) {
				items = append(items, u.Object)
			}
		}
		meta := object{"resourceVersion": strconv.Itoa(s.rv)}
		from, _ := strconv.Atoi(r.URL.Query().Get("continue"))
		limit, _ := strconv.Atoi(r.URL.Query().Get("limit"))
		items = items[min(from, len(items)):]
		if limit > 0 && len(items) > limit {
			items, meta["continue"] = items[:limit], strconv.Itoa(from+limit)
		}
		reply(object{"metadata": meta, "items": items})
	case "create":
		var o object
		if err := in.Decode(&o); err != nil {
			status(w, 400, metav1.StatusReasonBadRequest, err.Error())
			return
		}
		u := &unstructured.Unstructured{Object: o}
		if s.objects[resource][ns+"/"+u.GetName()] != nil {
			status(w, 409, metav1.StatusReasonAlreadyExists, "already exists")
			return
		}
		u.SetNamespace(ns)
		s.put(resource, o, "ADDED")
		reply(o)
	case "update":
		var o object
		if err := in.Decode(&o); err != nil {
			status(w, 400, metav1.StatusReasonBadRequest, err.Error())
			return
		}
		u, old := &unstructured.Unstructured{Object: o}, &unstructured.Unstructured{Object: have}
		if u.GetResourceVersion() != old.GetResourceVersion() {
			status(w, 409, metav1.StatusReasonConflict, "the object has been modified")
			return
		}
		s.put(resource, o, "MODIFIED")
		reply(o)
	case "delete":
		var options metav1.DeleteOptions
		_ = in.Decode(&options)
		u := &unstructured.Unstructured{Object: have}
		if p := options.Preconditions; p != nil && p.UID != nil && *p.UID != u.GetUID() {
			status(w, 409, metav1.StatusReasonConflict, "the UID in the precondition does not match")
			return
		}
		if len(u.GetFinalizers()) > 0 {
			now := metav1.Now()
			u.SetDeletionTimestamp(&now)
			s.put(resource, have, "MODIFIED")
		} else {
			s.drop(resource, ns, name)
		}
		reply(have)
	}
}

// put stores an object. The caller holds the lock.
func (s *fakeSupervisor) put(resource string, o object, kind string) {
	s.rv++
	u := &unstructured.Unstructured{Object: o}
	u.SetResourceVersion(strconv.Itoa(s.rv))
	if u.GetUID() == "" {
		u.SetUID(types.UID(fmt.Sprintf("uid-%d", s.rv)))
	}
	if u.GetCreationTimestamp() == (metav1.Time{}) {
		u.SetCreationTimestamp(metav1.Now())
	}
	if s.react != nil {
		s.react(resource, o)
	}
	if s.objects[resource] == nil {
		s.objects[resource] = map[string]object{}
	}
	s.objects[resource][u.GetNamespace()+"/"+u.GetName()] = o
	s.tell(kind, resource, o)
}

// drop deletes an object. The caller holds the lock.
func (s *fakeSupervisor) drop(resource, ns, name string) {
	o := s.objects[resource][ns+"/"+name]
	delete(s.objects[resource], ns+"/"+name)
	s.rv++
	s.tell("DELETED", resource, o)
}

func (s *fakeSupervisor) tell(kind, resource string, o object) {
	data, err := json.Marshal(o)
	if err != nil {
		panic(err)
	}
	s.history = append(s.history, change{s.rv, kind, resource, data})
	close(s.more)
	s.more = make(chan struct{})
}

func (s *fakeSupervisor) watch(w http.ResponseWriter, r *http.Request, ns, resource string) {
	from, _ := strconv.Atoi(r.URL.Query().Get("resourceVersion"))
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(http.StatusOK)
	flush := func() {
		if f, ok := w.(http.Flusher); ok {
			f.Flush()
		}
	}
	flush()
	for {
		s.mu.Lock()
		var out bytes.Buffer
		for _, c := range s.history {
			if c.rv > from && c.resource == resource && bytes.Contains(c.object, []byte(`"namespace":"`+ns+`"`)) {
				fmt.Fprintf(&out, `{"type":%q,"object":%s}`+"\n", c.kind, c.object)
			}
		}
		from = s.rv
		more := s.more
		s.mu.Unlock()
		if _, err := w.Write(out.Bytes()); err != nil {
			return
		}
		flush()
		select {
		case <-more:
		case <-r.Context().Done():
			return
		}
	}
}

// machine is a VirtualMachine as VM Operator fills it.
func machine(i int, edits ...func(object)) object {
	o := object{
		"apiVersion": "vmoperator.vmware.com/v1alpha2", "kind": "VirtualMachine",
		"metadata": object{
			"name": fmt.Sprintf("worker-%d", i), "namespace": namespace,
			"creationTimestamp": "2026-01-01T00:00:00Z",
			"labels": object{
				"capv.vmware.com/cluster.name": cluster, "capv.vmware.com/cluster.role": "node", "topology.kubernetes.io/zone": "zone-a",
			},
		},
		"status": object{
			"powerState": "PoweredOn", "biosUUID": uuid(i), "zone": "zone-a",
			"network": object{"primaryIP4": fmt.Sprintf("10.1.%d.%d", i/250, 1+i%250), "primaryIP6": fmt.Sprintf("fd00::%x", i+1)},
		},
	}
	for _, edit := range edits {
		edit(o)
	}
	return o
}

func uuid(i int) string { return fmt.Sprintf("42010203-0405-0607-0809-%012d", i) }

// field sets a field of an object; nil removes it.
func field(value any, path ...string) func(object) {
	return func(o object) {
		if value == nil {
			unstructured.RemoveNestedField(o, path...)
			return
		}
		if err := unstructured.SetNestedField(o, value, path...); err != nil {
			panic(err)
		}
	}
}

// add creates VirtualMachines.
func (s *fakeSupervisor) add(all ...object) {
	s.set(func() {
		for _, o := range all {
			s.put("virtualmachines", o, "ADDED")
		}
	})
}

// edit changes an object as a controller of the Supervisor does.
func (s *fakeSupervisor) edit(t testing.TB, resource, name string, edits ...func(object)) {
	t.Helper()
	s.mu.Lock()
	defer s.mu.Unlock()
	have := s.objects[resource][namespace+"/"+name]
	if have == nil {
		t.Fatalf("no %s %s", resource, name)
	}
	o := (&unstructured.Unstructured{Object: have}).DeepCopy().Object
	for _, edit := range edits {
		edit(o)
	}
	s.put(resource, o, "MODIFIED")
}

// get returns an object, or nil.
func (s *fakeSupervisor) get(resource, name string) *unstructured.Unstructured {
	s.mu.Lock()
	defer s.mu.Unlock()
	o := s.objects[resource][namespace+"/"+name]
	if o == nil {
		return nil
	}
	return (&unstructured.Unstructured{Object: o}).DeepCopy()
}

// newNode is a Node as a kubelet registers it.
func newNode(i int, edits ...func(*corev1.Node)) *corev1.Node {
	n := &corev1.Node{
		ObjectMeta: metav1.ObjectMeta{
			Name: fmt.Sprintf("worker-%d", i), UID: types.UID(fmt.Sprintf("node-uid-%d", i)),
			CreationTimestamp: metav1.NewTime(time.Date(2026, 1, 2, 0, 0, 0, 0, time.UTC)),
		},
		Spec:   corev1.NodeSpec{ProviderID: "vsphere://" + uuid(i)},
		Status: corev1.NodeStatus{NodeInfo: corev1.NodeSystemInfo{SystemUUID: uuid(i)}},
	}
	for _, edit := range edits {
		edit(n)
	}
	return n
}

// running is a provider that follows a fake Supervisor, in a guest cluster with Nodes.
type running struct {
	*Provider
	*fakeSupervisor
	client *fake.Clientset
}

// start starts a provider with the Nodes known. ready says that it has to be in sync.
func start(t testing.TB, s *fakeSupervisor, change func(*Options), ready bool, nodes ...*corev1.Node) running {
	t.Helper()
	o := s.options(t)
	if change != nil {
		change(&o)
	}
	p, err := New(o)
	if err != nil {
		t.Fatal(err)
	}
	client := fake.NewClientset()
	for _, n := range nodes {
		if err := client.Tracker().Add(n); err != nil {
			t.Fatal(err)
		}
	}
	factory := informers.NewSharedInformerFactory(client, 0)
	p.SetInformers(factory)
	factory.StartWithContext(t.Context())
	factory.WaitForCacheSync(t.Context().Done())
	p.start(p.closed, client)
	t.Cleanup(func() {
		p.Close()
		p.Wait()
		factory.Shutdown()
	})
	r := running{p, s, client}
	if ready {
		eventually(t, "in sync", func() error { return p.vms.Load().Current() })
	}
	return r
}

var errWaiting = errors.New("not yet")
