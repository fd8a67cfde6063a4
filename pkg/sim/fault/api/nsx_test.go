package api_test

import (
	"context"
	"crypto/tls"
	"errors"
	"io"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/event"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/sim/fault"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/sim/fault/api"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/sim/nsx"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/sim/nsx/nsxtest"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/sim/nsx/tree"
)

const allocations = "/infra/ip-pools/services/ip-allocations/"

// manager is an NSX Manager with a pool and faults, and a client with a session.
type manager struct {
	*nsxtest.Manager
	*fault.Engine
	client  *http.Client
	session http.Header
}

func startNSX(t *testing.T) *manager {
	t.Helper()
	r := &manager{Manager: nsxtest.Start(t, nsx.Options{Accounts: []nsx.Account{{User: "admin", Password: "right", Role: nsx.EnterpriseAdmin}}})}
	r.Put("/infra/ip-pools/services", tree.Object{"ip_release_delay": int64(0)})
	r.Put("/infra/ip-pools/services/ip-subnets/1", tree.Object{
		"cidr": "10.20.0.0/24", "allocation_ranges": []any{tree.Object{"start": "10.20.0.10", "end": "10.20.0.20"}},
	})
	ground := &fault.Ground{
		Items: func(context.Context, fault.Object) ([]fault.Item, error) {
			return []fault.Item{{Kind: fault.NSX, Name: "nsx"}}, nil
		},
		NSX: func() *nsx.Manager { return r.Manager.Manager }, Speed: 10, Events: event.NewLog(0),
	}
	r.Engine = fault.NewEngine(fault.Options{Ground: ground, Kinds: api.NSXKinds()})
	r.client = &http.Client{Transport: &http.Transport{TLSClientConfig: &tls.Config{RootCAs: r.CA.Pool()}}, Timeout: 5 * time.Second}
	t.Cleanup(func() {
		r.client.CloseIdleConnections()
		ctx, cancel := context.WithTimeout(context.Background(), 10*time.Second)
		defer cancel()
		if err := r.Engine.Close(ctx); err != nil {
			t.Error(err)
		}
	})
	return r
}

// call makes a call with the password, or with the session if there is one, and returns status and body.
func (r *manager) call(verb, path, body string) (status int, text string, header http.Header, err error) {
	r.Helper()
	req, err := http.NewRequestWithContext(r.Context(), verb, "https://"+r.Addr()+path, strings.NewReader(body))
	if err != nil {
		r.Fatal(err)
	}
	if r.session != nil {
		req.Header = r.session.Clone()
	} else {
		req.SetBasicAuth("admin", "right")
	}
	res, err := r.client.Do(req)
	if err != nil {
		return 0, "", nil, err
	}
	defer res.Body.Close()
	all, err := io.ReadAll(res.Body)
	return res.StatusCode, string(all), res.Header, err
}

// login creates a session, which later calls use.
func (r *manager) login() {
	r.Helper()
	res, err := r.client.Post("https://"+r.Addr()+"/api/session/create", "application/x-www-form-urlencoded", strings.NewReader("j_username=admin&j_password=right"))
	if err != nil {
		r.Fatal(err)
	}
	defer res.Body.Close()
	r.session = http.Header{"X-Xsrf-Token": res.Header.Values("X-Xsrf-Token")}
	for _, c := range res.Cookies() {
		r.session.Add("Cookie", c.String())
	}
}

const pools = "/policy/api/v1/infra/ip-pools"

// TestNSXCalls: what a client sees of each fault of calls, and that it is over when it is healed.
func TestNSXCalls(t *testing.T) {
	r := startNSX(t)
	for _, tc := range []struct {
		kind   string
		params map[string]string
		verb   string
		status int // 0: no answer
		says   string
	}{
		{"nsx.down", nil, "GET", 0, ""},
		{"nsx.unavailable", nil, "GET", 503, "503 Service Unavailable"},
		{"nsx.throttled", map[string]string{"rate": "1"}, "GET", 429, `"error_code":102`},
		{"nsx.reset-mid-body", map[string]string{"bytes": "4"}, "GET", 0, ""},
		{"nsx.error", map[string]string{"error": "UNAUTHENTICATED", "message": "go away"}, "GET", 401, "go away"},
		{"nsx.conflict", nil, "PATCH", 409, `"httpStatus":"CONFLICT"`},
		{"nsx.conflict", map[string]string{"error": "PRECONDITION_FAILED"}, "PATCH", 412, `"error_code":604`},
		{"nsx.credentials-rotated", map[string]string{"account": "admin"}, "GET", 403, "credentials were incorrect"},
	} {
		t.Run(tc.kind, func(t *testing.T) {
			lease, err := r.Inject(t.Context(), fault.Request{Kind: tc.kind, Params: tc.params})
			if err != nil {
				t.Fatal(err)
			}
			status, text, header := 0, "", http.Header{}
			for range 5 { // nsx.throttled lets the first ones pass
				if status, text, header, err = r.call(tc.verb, pools+"/services", "{}"); status != http.StatusOK || err != nil {
					break
				}
			}
			if tc.status == 0 && err == nil || tc.status != 0 && (err != nil || status != tc.status || !strings.Contains(text, tc.says)) {
				t.Errorf("status %d, %s, %v", status, text, err)
			}
			if tc.status == http.StatusTooManyRequests && header.Get("Retry-After") == "" {
				t.Error("no Retry-After")
			}
			if tc.kind == "nsx.conflict" {
				if status, _, _, err := r.call("GET", pools, ""); status != http.StatusOK {
					t.Errorf("a read: status %d, %v", status, err)
				}
			}
			if _, err := r.Heal(t.Context(), lease.ID); err != nil {
				t.Fatal(err)
			}
			if status, text, _, err := r.call(tc.verb, pools+"/services", "{}"); status != http.StatusOK {
				t.Errorf("healed: status %d, %s, %v", status, text, err)
			}
		})
	}
}

// TestNSXSlow: calls wait.
func TestNSXSlow(t *testing.T) {
	r := startNSX(t)
	if _, err := r.Inject(t.Context(), fault.Request{Kind: "nsx.latency", Params: map[string]string{"delay": "50ms"}}); err != nil {
		t.Fatal(err)
	}
	began := time.Now()
	if status, _, _, err := r.call("GET", pools, ""); status != http.StatusOK || time.Since(began) < 50*time.Millisecond {
		t.Errorf("status %d, %v after %s", status, err, time.Since(began))
	}
}

// TestNSXSessions: sessions end once, and there must be one.
func TestNSXSessions(t *testing.T) {
	r := startNSX(t)
	refusal := (*fault.Refusal)(nil)
	if _, err := r.Inject(t.Context(), fault.Request{Kind: "nsx.session-expired"}); !errors.As(err, &refusal) || !strings.Contains(refusal.Message, "no client has a session") {
		t.Errorf("without a session: %v", err)
	}
	r.login()
	if status, text, _, err := r.call("GET", pools, ""); status != http.StatusOK {
		t.Fatalf("status %d, %s, %v", status, text, err)
	}
	if _, err := r.Inject(t.Context(), fault.Request{Kind: "nsx.session-expired"}); err != nil {
		t.Fatal(err)
	}
	if status, _, _, err := r.call("GET", pools, ""); status != http.StatusUnauthorized {
		t.Errorf("status %d, %v", status, err)
	}
	r.login()
	if status, _, _, err := r.call("GET", pools, ""); status != http.StatusOK {
		t.Errorf("a new session: status %d, %v", status, err)
	}
}

// TestNSXRealization: objects are stored and not realized, until the fault is healed. Those that were realized stay so.
func TestNSXRealization(t *testing.T) {
	for kind, params := range map[string]map[string]string{
		"nsx.pool-exhausted":    {"pool": "services"},
		"nsx.realization-fails": {"type": "IpAddressAllocation", "reason": "because"},
		"nsx.realization-slow":  {"delay": "1h"},
	} {
		t.Run(kind, func(t *testing.T) {
			r := startNSX(t)
			state := func(name string) string {
				o, err := r.Tree().Realize(allocations + name)
				if err != nil {
					t.Fatal(err)
				}
				return o["state"].(string)
			}
			r.Put(allocations+"before", tree.Object{})
			if got := state("before"); got != tree.Realized {
				t.Fatalf("before: %s", got)
			}
			lease, err := r.Inject(t.Context(), fault.Request{Kind: kind, Params: params})
			if err != nil {
				t.Fatal(err)
			}
			r.Put(allocations+"during", tree.Object{})
			want := tree.Failed
			if kind == "nsx.realization-slow" {
				want = tree.Unrealized
			}
			if before, during := state("before"), state("during"); before != tree.Realized || during != want {
				t.Errorf("while it lasts: %s, %s", before, during)
			}
			if _, err := r.Heal(t.Context(), lease.ID); err != nil {
				t.Fatal(err)
			}
			r.Put(allocations+"after", tree.Object{})
			if after := state("after"); after != tree.Realized {
				t.Errorf("after: %s", after)
			}
			if during := state("during"); during != tree.Realized && kind != "nsx.realization-slow" {
				t.Errorf("healed: %s", during)
			}
		})
	}
}

// TestNSXRefused: what cannot be is refused, with what there is.
func TestNSXRefused(t *testing.T) {
	r := startNSX(t)
	for _, tc := range []struct{ kind, param, value, says string }{
		{"nsx.pool-exhausted", "pool", "servces", `did you mean "services"?`},
		{"nsx.credentials-rotated", "account", "nobody", "it has admin"},
		{"nsx.realization-slow", "delay", "0s", "must be positive"},
		{"nsx.latency", "delay", "0s", "delay"},
		{"nsx.realization-fails", "type", "LBPol", "LBPool"},
	} {
		_, err := r.Inject(t.Context(), fault.Request{Kind: tc.kind, Params: map[string]string{tc.param: tc.value}})
		if refusal := (*fault.Refusal)(nil); !errors.As(err, &refusal) || !strings.Contains(refusal.Message, tc.says) {
			t.Errorf("%s: %v", tc.kind, err)
		}
	}
	without := fault.NewEngine(fault.Options{Ground: &fault.Ground{}, Kinds: api.NSXKinds()})
	_, err := without.Inject(t.Context(), fault.Request{Kind: "nsx.down"})
	if refusal := (*fault.Refusal)(nil); !errors.As(err, &refusal) || refusal.Code != "unsupported" || !strings.Contains(refusal.Message, "spec.nsx of the topology") {
		t.Errorf("without an NSX Manager: %v", err)
	}
	if err := without.Close(t.Context()); err != nil {
		t.Error(err)
	}
}
