package main

import (
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	coordinationv1 "k8s.io/api/coordination/v1"
	"k8s.io/client-go/kubernetes/scheme"
)

// fakeAPI is an API server with Leases and no other object, which records its requests.
type fakeAPI struct {
	*httptest.Server
	kubeconfig string

	mu     sync.Mutex
	asked  map[string]bool // "verb group/resource"
	leases map[string]*coordinationv1.Lease
	more   chan struct{} // has a token after a new request
}

// kinds are the kinds that the sidecars may request.
func kinds() map[string]string {
	return map[string]string{
		"persistentvolumes": "PersistentVolume", "persistentvolumeclaims": "PersistentVolumeClaim", "nodes": "Node", "pods": "Pod",
		"storageclasses": "StorageClass", "csinodes": "CSINode", "csistoragecapacities": "CSIStorageCapacity", "volumeattachments": "VolumeAttachment",
		"volumesnapshots": "VolumeSnapshot", "volumesnapshotcontents": "VolumeSnapshotContent",
		"volumesnapshotclasses": "VolumeSnapshotClass",
	}
}

func startAPI(t *testing.T) *fakeAPI {
	t.Helper()
	a := &fakeAPI{asked: map[string]bool{}, leases: map[string]*coordinationv1.Lease{}, more: make(chan struct{}, 1)}
	a.Server = httptest.NewServer(a)
	t.Cleanup(func() { a.CloseClientConnections(); a.Close() })
	a.kubeconfig = filepath.Join(t.TempDir(), "kubeconfig")
	text := fmt.Sprintf(`{apiVersion: v1, kind: Config, current-context: c, clusters: [{name: c, cluster: {server: %q}}],
contexts: [{name: c, context: {cluster: c, user: u}}], users: [{name: u, user: {}}]}`, a.URL)
	if err := os.WriteFile(a.kubeconfig, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	return a
}

func (a *fakeAPI) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	w.Header().Set("Content-Type", "application/json")
	group, version, rest := place(r.URL.Path)
	if rest == nil { // discovery
		a.discover(w, group, version)
		return
	}
	if rest[0] == "namespaces" && len(rest) > 2 {
		rest = rest[2:]
	}
	resource, verb := rest[0], map[string]string{http.MethodPost: "create", http.MethodPut: "update", http.MethodPatch: "patch", http.MethodDelete: "delete"}[r.Method]
	switch {
	case verb != "":
	case len(rest) > 1:
		verb = "get"
	case r.URL.Query().Get("watch") != "":
		verb = "watch"
	default:
		verb = "list"
	}
	a.note(verb + " " + group + "/" + resource)
	switch {
	case resource == "leases":
		a.lease(w, r, verb)
	case verb == "list":
		answer(w, map[string]any{
			"apiVersion": strings.TrimPrefix(group+"/"+version, "/"), "kind": kinds()[resource] + "List",
			"metadata": map[string]any{"resourceVersion": "1"}, "items": []any{},
		})
	case verb == "watch":
		// The initial list is complete, and nothing follows.
		answer(w, map[string]any{"type": "BOOKMARK", "object": map[string]any{
			"apiVersion": strings.TrimPrefix(group+"/"+version, "/"), "kind": kinds()[resource],
			"metadata": map[string]any{"resourceVersion": "1", "annotations": map[string]string{"k8s.io/initial-events-end": "true"}},
		}})
		w.(http.Flusher).Flush()
		<-r.Context().Done()
	default:
		w.WriteHeader(http.StatusNotFound)
		answer(w, map[string]any{"apiVersion": "v1", "kind": "Status", "status": "Failure", "reason": "NotFound", "code": http.StatusNotFound})
	}
}

// place parses a path; rest is nil for discovery.
func place(path string) (group, version string, rest []string) {
	parts := strings.Split(strings.Trim(path, "/"), "/")
	if parts[0] == "api" {
		parts = append([]string{"apis", ""}, parts[1:]...)
	}
	parts = append(parts[1:], make([]string, 2)...)[:max(2, len(parts)-1)]
	if len(parts) > 2 {
		rest = parts[2:]
	}
	return parts[0], parts[1], rest
}

func (a *fakeAPI) discover(w io.Writer, group, version string) {
	all := []any{}
	for resource, kind := range kinds() {
		all = append(all, map[string]any{"name": resource, "kind": kind, "verbs": []string{"list"}})
	}
	answer(w, map[string]any{"apiVersion": "v1", "kind": "APIResourceList", "groupVersion": group + "/" + version, "resources": all})
}

// lease stores Leases, as far as acquiring and releasing needs.
func (a *fakeAPI) lease(w http.ResponseWriter, r *http.Request, verb string) {
	a.mu.Lock()
	defer a.mu.Unlock()
	name := filepath.Base(r.URL.Path)
	if verb == "get" {
		if a.leases[name] == nil {
			w.WriteHeader(http.StatusNotFound)
			answer(w, map[string]any{"apiVersion": "v1", "kind": "Status", "status": "Failure", "reason": "NotFound", "code": http.StatusNotFound})
			return
		}
		answer(w, a.leases[name])
		return
	}
	body, err := io.ReadAll(r.Body)
	if err != nil {
		http.Error(w, err.Error(), http.StatusBadRequest)
		return
	}
	decoded, _, err := scheme.Codecs.UniversalDeserializer().Decode(body, nil, nil) // the client sends protobuf
	if err != nil {
		http.Error(w, err.Error(), http.StatusBadRequest)
		return
	}
	lease := decoded.(*coordinationv1.Lease)
	lease.SetGroupVersionKind(coordinationv1.SchemeGroupVersion.WithKind("Lease"))
	name = lease.Name
	a.leases[name] = lease
	if verb == "create" {
		w.WriteHeader(http.StatusCreated)
	}
	answer(w, lease)
}

// holder returns the holder of a Lease, or "".
func (a *fakeAPI) holder(name string) (string, bool) {
	a.mu.Lock()
	defer a.mu.Unlock()
	lease, ok := a.leases[name]
	if !ok {
		return "", false
	}
	if who := lease.Spec.HolderIdentity; who != nil {
		return *who, true
	}
	return "", true
}

func answer(w io.Writer, body any) {
	_ = json.NewEncoder(w).Encode(body) // the client may be gone
}

func (a *fakeAPI) note(request string) {
	a.mu.Lock()
	a.asked[request] = true
	a.mu.Unlock()
	select {
	case a.more <- struct{}{}:
	default:
	}
}

func (a *fakeAPI) requests() []string {
	a.mu.Lock()
	defer a.mu.Unlock()
	return slices.Sorted(maps.Keys(a.asked))
}

// await waits for all of these requests.
func (a *fakeAPI) await(t *testing.T, p *process, want ...string) {
	t.Helper()
	for late := time.After(patience); ; {
		asked := a.requests()
		i := slices.IndexFunc(want, func(w string) bool { return !slices.Contains(asked, w) })
		if i < 0 {
			return
		}
		select {
		case <-a.more:
		case <-p.done:
			t.Fatalf("%v has ended:\n%s", p.cmd.Args[1:], p.output())
		case <-late:
			t.Fatalf("no %q, only %q:\n%s", want[i], asked, p.output())
		}
	}
}
