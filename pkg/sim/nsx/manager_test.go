package nsx

import (
	"bytes"
	"context"
	"crypto/tls"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/vsphere-sandbox/vsphere-sandbox/internal/cert"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/sim/gate"
)

// rig is a manager with four users, and a client.
type rig struct {
	*testing.T
	*Manager
	ca      *cert.CA
	client  *http.Client
	prepare func(*http.Request)
}

func start(t *testing.T) *rig {
	t.Helper()
	ca, err := cert.NewCA("test")
	if err != nil {
		t.Fatal(err)
	}
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	m, err := Start(l, Options{CA: ca, Accounts: []Account{
		{User: "admin", Password: "right", Role: EnterpriseAdmin},
		{User: "lb", Password: "right", Role: LBAdmin},
		{User: "auditor", Password: "right", Role: Auditor},
		{User: "remote@corp", Password: "right", Role: EnterpriseAdmin, Remote: true},
		{User: "ccm", Role: EnterpriseAdmin},
	}})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		ctx, cancel := context.WithTimeout(context.Background(), 10*time.Second)
		defer cancel()
		if err := m.Close(ctx); err != nil {
			t.Error(err)
		}
	})
	r := &rig{T: t, Manager: m, ca: ca, client: clientOf(ca)}
	r.prepare = func(q *http.Request) { q.SetBasicAuth("admin", "right") }
	return r
}

func clientOf(ca *cert.CA, certificates ...tls.Certificate) *http.Client {
	return &http.Client{Transport: &http.Transport{DisableKeepAlives: true, TLSClientConfig: &tls.Config{RootCAs: ca.Pool(), Certificates: certificates}}}
}

// call returns the status of a call and its answer.
func (r *rig) call(method, path, body string) (int, map[string]any, http.Header) {
	r.Helper()
	q, err := http.NewRequest(method, "https://"+r.Addr()+path, strings.NewReader(body))
	if err != nil {
		r.Fatal(err)
	}
	if r.prepare != nil {
		r.prepare(q)
	}
	resp, err := r.client.Do(q)
	if err != nil {
		r.Fatal(err)
	}
	defer resp.Body.Close()
	text, err := io.ReadAll(resp.Body)
	if err != nil {
		r.Fatal(err)
	}
	var o map[string]any
	if len(text) > 0 {
		if err := json.Unmarshal(text, &o); err != nil {
			r.Fatalf("%s %s: %q: %v", method, path, text, err)
		}
	}
	return resp.StatusCode, o, resp.Header
}

// TestAuthentication: basic and remote users, and certificates; each refusal has NSX's status and code.
func TestAuthentication(t *testing.T) {
	r := start(t)
	basicAs := func(user, password string) func(*http.Request) {
		return func(q *http.Request) { q.SetBasicAuth(user, password) }
	}
	remote := func(q *http.Request) {
		q.SetBasicAuth("remote@corp", "right")
		q.Header.Set("Authorization", strings.Replace(q.Header.Get("Authorization"), "Basic", "Remote", 1))
	}
	pair := func(name string) tls.Certificate {
		p, err := r.ca.Sign(cert.Leaf{CommonName: name})
		if err != nil {
			t.Fatal(err)
		}
		return p.TLS()
	}
	for name, tc := range map[string]struct {
		client  *http.Client
		prepare func(*http.Request)
		status  int
		code    float64
	}{
		"basic":                         {r.client, basicAs("admin", "right"), 200, 0},
		"wrong password":                {r.client, basicAs("admin", "wrong"), 403, 403},
		"unknown user":                  {r.client, basicAs("none", "right"), 403, 403},
		"nothing":                       {r.client, nil, 401, 401},
		"remote":                        {r.client, remote, 200, 0},
		"remote user with basic":        {r.client, basicAs("remote@corp", "right"), 403, 403},
		"certificate":                   {clientOf(r.ca, pair("ccm")), nil, 200, 0},
		"certificate of no user":        {clientOf(r.ca, pair("none")), nil, 401, 401},
		"certificate, of a local user":  {clientOf(r.ca, pair("admin")), nil, 401, 401},
		"principal identity, no secret": {r.client, basicAs("ccm", ""), 403, 403},
	} {
		t.Run(name, func(t *testing.T) {
			r := &rig{T: t, Manager: r.Manager, ca: r.ca, client: tc.client, prepare: tc.prepare}
			status, o, _ := r.call(http.MethodGet, "/policy/api/v1/infra/lb-pools", "")
			if code, _ := o["error_code"].(float64); status != tc.status || code != tc.code {
				t.Errorf("status %d, %v; want %d and the code %v", status, o, tc.status, tc.code)
			}
		})
	}
	other, err := cert.NewCA("other")
	if err != nil {
		t.Fatal(err)
	}
	p, err := other.Sign(cert.Leaf{CommonName: "ccm"})
	if err != nil {
		t.Fatal(err)
	}
	if resp, err := clientOf(r.ca, p.TLS()).Get("https://" + r.Addr() + "/policy/api/v1/infra/lb-pools"); err == nil && resp.StatusCode == http.StatusOK {
		t.Error("a certificate of another authority is accepted")
	}
	if err := r.SetPassword("admin", "new"); err != nil {
		t.Fatal(err)
	}
	if status, _, _ := r.call(http.MethodGet, "/policy/api/v1/infra/lb-pools", ""); status != 403 {
		t.Errorf("with the old password: status %d", status)
	}
}

// TestSession: a session needs its cookie and its token, ends with the password, and can be ended by a rule of the gate.
func TestSession(t *testing.T) {
	r := start(t)
	login := func() (cookie, token string) {
		r.prepare = func(q *http.Request) { q.Header.Set("Content-Type", "application/x-www-form-urlencoded") }
		status, _, header := r.call(http.MethodPost, "/api/session/create", "j_username=admin&j_password=right")
		cookie, _, _ = strings.Cut(header.Get("Set-Cookie"), ";")
		if token = header.Get("X-XSRF-TOKEN"); status != 200 || !strings.HasPrefix(cookie, "JSESSIONID=") || token == "" {
			t.Fatalf("status %d, cookie %q, token %q", status, cookie, token)
		}
		return cookie, token
	}
	use := func(cookie, token string) int {
		r.prepare = func(q *http.Request) {
			q.Header.Set("Cookie", cookie)
			q.Header.Set("X-XSRF-TOKEN", token)
		}
		status, _, _ := r.call(http.MethodGet, "/policy/api/v1/infra/lb-pools", "")
		return status
	}
	cookie, token := login()
	if got := []int{use(cookie, token), use(cookie, "wrong"), use("JSESSIONID=none", token)}; fmt.Sprint(got) != "[200 403 401]" {
		t.Errorf("right, without the token, without the session: %v", got)
	}
	id, err := r.Gate().Add(gate.Rule{Action: gate.DropSession{}, Count: 1})
	if err != nil {
		t.Fatal(err)
	}
	if got := use(cookie, token); got != 401 {
		t.Errorf("a session that the gate has ended: status %d", got)
	}
	if err := r.Gate().Remove(t.Context(), id); err != nil {
		t.Fatal(err)
	}
	cookie, token = login()
	if n := r.EndSessions(); n != 1 || use(cookie, token) != 401 {
		t.Errorf("%d sessions ended", n)
	}
	cookie, token = login()
	use(cookie, token)
	if status, _, _ := r.call(http.MethodGet, "/api/session/destroy", ""); status != 200 || use(cookie, token) != 401 {
		t.Errorf("destroy: status %d", status)
	}
}

// TestRoles: who may change what.
func TestRoles(t *testing.T) {
	r := start(t)
	for _, tc := range []struct {
		user         string
		pool, router int
	}{{"admin", 200, 200}, {"lb", 200, 403}, {"auditor", 403, 403}} {
		r.prepare = func(q *http.Request) { q.SetBasicAuth(tc.user, "right") }
		pool, _, _ := r.call(http.MethodPut, "/policy/api/v1/infra/lb-pools/of-"+tc.user, "{}")
		router, _, _ := r.call(http.MethodPatch, "/policy/api/v1/infra/tier-1s/of-"+tc.user, "{}")
		if pool != tc.pool || router != tc.router {
			t.Errorf("%s: %d for a pool, %d for a gateway", tc.user, pool, router)
		}
		if status, _, _ := r.call(http.MethodGet, "/policy/api/v1/infra/lb-pools", ""); status != 200 {
			t.Errorf("%s may not read: %d", tc.user, status)
		}
	}
}

// TestCalls: the life of an object over HTTP, and calls that are none of the API.
func TestCalls(t *testing.T) {
	r := start(t)
	const pool = "/policy/api/v1/infra/lb-pools/p"
	for _, tc := range []struct {
		method, path, body string
		status             int
		field              string
		want               any
	}{
		{http.MethodGet, pool, "", 404, "error_code", 600.0},
		{http.MethodPut, pool, `{"display_name":"web","tags":[{"scope":"owner","tag":"me"}]}`, 200, "_revision", 0.0},
		{http.MethodGet, pool, "", 200, "path", "/infra/lb-pools/p"},
		{http.MethodPut, pool, `{"display_name":"web"}`, 412, "httpStatus", "PRECONDITION_FAILED"},
		{http.MethodPut, pool, `{"display_name":"web","_revision":0}`, 200, "_revision", 1.0},
		{http.MethodPatch, pool, `{"description":"patched"}`, 200, "", nil},
		{http.MethodGet, pool, "", 200, "description", "patched"},
		{http.MethodGet, "/policy/api/v1/infra/lb-pools", "", 200, "result_count", 1.0},
		{http.MethodGet, "/policy/api/v1/search/query?query=display_name:web", "", 200, "result_count", 1.0},
		{http.MethodGet, "/policy/api/v1/infra/realized-state/realized-entities?intent_path=/infra/lb-pools/p", "", 200, "result_count", 1.0},
		{http.MethodGet, "/policy/api/v1/infra/realized-state/realized-entities", "", 400, "error_code", 500012.0},
		{http.MethodGet, "/policy/api/v1/infra/lb-pools?page_size=1001", "", 400, "error_code", 220.0},
		{http.MethodPut, pool, `{"_revision":2} {}`, 400, "error_code", 220.0},
		{http.MethodPut, pool, `[]`, 400, "error_code", 220.0},
		{http.MethodPut, pool, `{"description":"` + strings.Repeat("x", maxBody) + `"}`, 400, "error_code", 220.0},
		{http.MethodPost, pool, `{}`, 405, "error_code", 405.0},
		{http.MethodDelete, "/policy/api/v1/infra/lb-pools", "", 405, "error_code", 405.0},
		{http.MethodGet, "/policy/api/v1/infra/lb-pools/a%2Fb", "", 404, "error_code", 404.0},
		{http.MethodGet, "/policy/api/v1/infra/unknown", "", 404, "error_code", 404.0},
		{http.MethodDelete, pool, "", 200, "", nil},
		{http.MethodDelete, pool, "", 404, "error_code", 600.0},
		{http.MethodGet, "/api/v1/node/version", "", 200, "product_version", version},
	} {
		status, o, _ := r.call(tc.method, tc.path, tc.body)
		if status != tc.status || tc.field == "" && o != nil || tc.field != "" && o[tc.field] != tc.want {
			t.Errorf("%s %s %.60s: status %d, %v; want %d, %s %v", tc.method, tc.path, tc.body, status, o, tc.status, tc.field, tc.want)
		}
	}
	if got := r.Gate().Stats(); len(got) == 0 || got[0].Method == "" {
		t.Errorf("the gate counted %v", got)
	}
}

// TestDown: the manager keeps its objects while its API is away.
func TestDown(t *testing.T) {
	r := start(t)
	if status, _, _ := r.call(http.MethodPut, "/policy/api/v1/infra/lb-pools/p", "{}"); status != 200 {
		t.Fatalf("status %d", status)
	}
	if err := r.Gate().Set(t.Context(), gate.Mode{State: gate.Down}); err != nil {
		t.Fatal(err)
	}
	if resp, err := r.client.Get("https://" + r.Addr()); err == nil {
		t.Errorf("status %d while it is down", resp.StatusCode)
	}
	if err := r.Gate().Set(t.Context(), gate.Mode{State: gate.Up}); err != nil {
		t.Fatal(err)
	}
	if status, _, _ := r.call(http.MethodGet, "/policy/api/v1/infra/lb-pools/p", ""); status != 200 {
		t.Errorf("status %d after it", status)
	}
}

// FuzzCalls: no request makes the manager panic or answer with anything but JSON.
func FuzzCalls(f *testing.F) {
	ca, err := cert.NewCA("fuzz")
	if err != nil {
		f.Fatal(err)
	}
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		f.Fatal(err)
	}
	m, err := Start(l, Options{CA: ca, Accounts: []Account{{User: "admin", Password: "right", Role: EnterpriseAdmin}}})
	if err != nil {
		f.Fatal(err)
	}
	f.Cleanup(func() { _ = m.Close(context.Background()) })
	handler := m.handler()
	for _, seed := range [][3]string{
		{"PUT", "/policy/api/v1/infra/lb-pools/p", `{"members":[{"ip_address":"10.0.0.1","port":"80-"}],"tags":[{}],"_revision":1e3}`},
		{"PATCH", "/policy/api/v1/infra/ip-pools/p/ip-subnets/s", `{"cidr":"10.0.0.0/8","allocation_ranges":[{"start":"10.0.0.1","end":"::1"}]}`},
		{"PUT", "/policy/api/v1/infra/lb-virtual-servers/v", `{"ports":["1-65535"],"ip_address":"::","application_profile_path":"/infra/lb-app-profiles/default-tcp-lb-app-profile"}`},
		{"GET", "/policy/api/v1/search/query?query=a.b:%5C", ``},
		{"GET", "/policy/api/v1/infra/lb-pools?cursor=AAAA&sort_by=tags&page_size=1&included_fields=,", ``},
		{"DELETE", "/policy/api/v1/infra/ip-pools/p?force=true", ``},
		{"GET", "/policy/api/v1/infra/realized-state/realized-entities?intent_path=/infra//x", ``},
	} {
		f.Add(seed[0], seed[1], seed[2])
	}
	f.Fuzz(func(t *testing.T, method, target, body string) {
		q, err := http.NewRequest(method, "https://nsx"+target, bytes.NewReader([]byte(body)))
		if err != nil || !strings.HasPrefix(target, "/") {
			return
		}
		q.SetBasicAuth("admin", "right")
		w := &recorder{header: http.Header{}}
		handler.ServeHTTP(w, q)
		if kind := w.header.Get("Content-Type"); w.Len() > 0 && kind == "application/json" && !json.Valid(w.Bytes()) {
			t.Errorf("%s %s: %s", method, target, w.Bytes())
		}
		for _, o := range m.tree.All() {
			if _, err := json.Marshal(o); err != nil {
				t.Errorf("%s %s %s: %v", method, target, body, err)
			}
		}
	})
}

type recorder struct {
	bytes.Buffer
	header http.Header
}

func (r *recorder) Header() http.Header { return r.header }
func (r *recorder) WriteHeader(int)     {}
