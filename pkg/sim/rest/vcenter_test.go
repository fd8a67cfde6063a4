package rest_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"net/url"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/google/uuid"
	"github.com/vmware/govmomi"
	"github.com/vmware/govmomi/simulator"
	client "github.com/vmware/govmomi/vapi/rest"
	vapisim "github.com/vmware/govmomi/vapi/simulator"
	"github.com/vmware/govmomi/vapi/tags"
	"github.com/vmware/govmomi/vim25"
	"github.com/vmware/govmomi/vim25/types"

	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/event"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/sim/rest"
)

const (
	admin    = "administrator@vsphere.local"
	password = "secret"
)

// sessions is what pkg/sim/access does, in little.
type sessions struct {
	mu    sync.Mutex
	limit int
	of    map[string]string
}

func (s *sessions) OpenREST(user string) (string, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.limit > 0 && len(s.of) >= s.limit {
		return "", errors.New("User session count is limited to 1. Existing session count is 1 for user " + user)
	}
	id := uuid.NewString()
	s.of[id] = user
	return id, nil
}

func (s *sessions) CloseREST(id string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.of, id)
}

func (s *sessions) TouchREST(id string) (string, bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	user, ok := s.of[id]
	return user, ok
}

// vcenter is a simulated vCenter with our REST side.
type vcenter struct {
	*rest.Handler
	base     *simulator.Context
	sessions *sessions
	events   *event.Log
	url      *url.URL
	http     *http.Client
	id       string // of the session that raw calls are made in
}

// newVCenter serves a vCenter with two VMs on the loopback. It must not run in parallel: Model.Create writes to variables
// of its package.
func newVCenter(t testing.TB, set func(*rest.Options)) *vcenter {
	t.Helper()
	m := simulator.VPX()
	m.Autostart = false
	m.Host, m.Cluster, m.Machine = 1, 0, 2
	if err := m.Create(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(m.Remove)
	m.Service.Listen = &url.URL{Scheme: "https", Host: "127.0.0.1", Path: vim25.Path}
	m.Service.RegisterSDK(m.Service.Context.Map)
	_, next := vapisim.New(m.Service.Listen, m.Service.Context.Map)

	v := &vcenter{base: m.Service.Context, sessions: &sessions{of: map[string]string{}}, events: event.NewLog(0)}
	options := rest.Options{
		Base:     v.base,
		Next:     next,
		Sessions: v.sessions,
		Valid:    func(user, p string) bool { return p == password },
		Events:   v.events,
		VCenter:  "west",
	}
	if set != nil {
		set(&options)
	}
	v.Handler = rest.New(options)
	for _, p := range []string{"/rest", "/rest/", "/api", "/api/"} {
		m.Service.Handle(p, v.Handler)
	}
	server := httptest.NewTLSServer(m.Service.ServeMux)
	t.Cleanup(func() {
		v.Close()
		server.Close()
	})
	v.http = server.Client()
	v.url, _ = url.Parse(server.URL)
	v.id, _ = v.sessions.OpenREST(admin)
	return v
}

// soap opens a session of SOAP.
func (v *vcenter) soap(t testing.TB) *vim25.Client {
	t.Helper()
	u := *v.url
	u.Path, u.User = vim25.Path, url.UserPassword("user", "pass")
	c, err := govmomi.NewClient(t.Context(), &u, true)
	if err != nil {
		t.Fatal(err)
	}
	return c.Client
}

// tags opens a session of REST as govmomi's users do.
func (v *vcenter) tags(t testing.TB) *tags.Manager {
	t.Helper()
	c := client.NewClient(v.soap(t))
	if err := c.Login(t.Context(), url.UserPassword(admin, password)); err != nil {
		t.Fatal(err)
	}
	return tags.NewManager(c)
}

// answer is what came back.
type answer struct {
	status int
	header http.Header
	body   string
}

// do makes a raw call; the body is sent as it is when a string, else as JSON.
func (v *vcenter) do(t testing.TB, method, path string, body any, headers ...string) answer {
	t.Helper()
	var b []byte
	switch body := body.(type) {
	case nil:
	case string:
		b = []byte(body)
	default:
		b, _ = json.Marshal(body)
	}
	q, err := http.NewRequestWithContext(t.Context(), method, v.url.String()+path, bytes.NewReader(b))
	if err != nil {
		t.Fatal(err)
	}
	if v.id != "" {
		q.Header.Set("vmware-api-session-id", v.id)
	}
	for i := 0; i < len(headers); i += 2 {
		q.Header.Set(headers[i], headers[i+1])
	}
	r, err := v.http.Do(q)
	if err != nil {
		t.Fatal(err)
	}
	defer r.Body.Close()
	all, err := io.ReadAll(r.Body)
	if err != nil {
		t.Fatal(err)
	}
	return answer{r.StatusCode, r.Header, strings.TrimSpace(string(all))}
}

// vms lists the VMs in the order of their references.
func (v *vcenter) vms() []types.ManagedObjectReference {
	var refs []types.ManagedObjectReference
	for _, e := range v.base.Map.AllReference("VirtualMachine") {
		refs = append(refs, e.Reference())
	}
	slices.SortFunc(refs, func(a, b types.ManagedObjectReference) int { return strings.Compare(a.Value, b.Value) })
	return refs
}

func (v *vcenter) one(kind string) types.ManagedObjectReference {
	return v.base.Map.Any(kind).Reference()
}

// kinds lists the events after one, as "kind object".
func (v *vcenter) kinds(after uint64) []string {
	events, _ := v.events.Read(after, 0)
	var out []string
	for _, e := range events {
		out = append(out, e.Kind+" "+e.Object.Kind+" "+e.Object.Name)
	}
	return out
}

// category makes a category with a known ID, and tags a, b … in it.
func (v *vcenter) category(t testing.TB, name, cardinality string, kinds []string, names ...string) {
	t.Helper()
	if err := v.Category(cat(name), name, "", cardinality, kinds); err != nil {
		t.Fatal(err)
	}
	for _, n := range names {
		if err := v.Tag(tag(n), cat(name), n, ""); err != nil {
			t.Fatal(err)
		}
	}
}

func cat(name string) string { return rest.CategoryPrefix + name + ":GLOBAL" }
func tag(name string) string { return rest.TagPrefix + name + ":GLOBAL" }

func wire(ref types.ManagedObjectReference) map[string]string {
	return map[string]string{"type": ref.Type, "id": ref.Value}
}
