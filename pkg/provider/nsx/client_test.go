package nsx_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/vsphere-sandbox/vsphere-sandbox/internal/cert"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/provider/nsx"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/sim/gate"
	simnsx "github.com/vsphere-sandbox/vsphere-sandbox/pkg/sim/nsx"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/sim/nsx/nsxtest"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/sim/nsx/tree"
)

// rig is a simulated manager.
type rig struct {
	*nsxtest.Manager

	mu    sync.Mutex
	calls []nsx.Call
	state []error
}

func start(t *testing.T) *rig {
	t.Helper()
	return &rig{Manager: nsxtest.Start(t, simnsx.Options{Accounts: []simnsx.Account{
		{User: "admin", Password: "right", Role: simnsx.EnterpriseAdmin},
		{User: "remote@corp", Password: "right", Role: simnsx.EnterpriseAdmin, Remote: true},
		{User: "auditor", Password: "right", Role: simnsx.Auditor},
		{User: "ccm", Role: simnsx.EnterpriseAdmin},
	}})}
}

// certificate writes a client's certificate and its key.
func (r *rig) certificate(name string) (crt, key string) {
	r.Helper()
	pair, err := r.CA.Sign(cert.Leaf{CommonName: name})
	if err != nil {
		r.Fatal(err)
	}
	return r.File("client.crt", pair.Cert), r.File("client.key", pair.Key)
}

func as(c nsx.Credentials) func(context.Context) (nsx.Credentials, error) {
	return func(context.Context) (nsx.Credentials, error) { return c, nil }
}

// client returns a client of the manager, as the user admin.
func (r *rig) client(edit func(*nsx.Config)) *nsx.Client {
	r.Helper()
	cfg := nsx.Config{
		Host: r.Addr(), CAFile: r.CAFile, UserAgent: "test", CallTimeout: 5 * time.Second,
		Credentials: as(nsx.Credentials{User: "admin", Password: "right"}),
		OnCall: func(c nsx.Call) {
			r.mu.Lock()
			defer r.mu.Unlock()
			r.calls = append(r.calls, c)
		},
		OnState: func(err error) {
			r.mu.Lock()
			defer r.mu.Unlock()
			r.state = append(r.state, err)
		},
	}
	if edit != nil {
		edit(&cfg)
	}
	c, err := nsx.New(cfg)
	if err != nil {
		r.Fatal(err)
	}
	r.Cleanup(func() {
		ctx, cancel := context.WithTimeout(context.Background(), time.Second)
		defer cancel()
		c.Close(ctx)
	})
	return c
}

// made returns the methods of the calls until now, and forgets them.
func (r *rig) made() []string {
	r.mu.Lock()
	defer r.mu.Unlock()
	var all []string
	for _, c := range r.calls {
		all = append(all, c.Method+" "+c.Result)
	}
	r.calls = nil
	return all
}

func (r *rig) rule(rule gate.Rule) gate.ID {
	r.Helper()
	id, err := r.Gate().Add(rule)
	if err != nil {
		r.Fatal(err)
	}
	return id
}

// TestAuthentication: each way to log in, and what the errors say of those that fail.
func TestAuthentication(t *testing.T) {
	r := start(t)
	crt, key := r.certificate("ccm")
	for name, tc := range map[string]struct {
		edit func(*nsx.Config)
		is   error
		text string
	}{
		"session":        {nil, nil, ""},
		"wrong password": {func(c *nsx.Config) { c.Credentials = as(nsx.Credentials{User: "admin", Password: "wrong"}) }, nsx.ErrCredentials, `user "admin"`},
		"remote": {func(c *nsx.Config) {
			c.Credentials = as(nsx.Credentials{User: "remote@corp", Password: "right", Remote: true})
		}, nil, ""},
		"remote as local": {func(c *nsx.Config) { c.Credentials = as(nsx.Credentials{User: "remote@corp", Password: "right"}) }, nsx.ErrCredentials, "remote@corp"},
		"certificate":     {func(c *nsx.Config) { c.Credentials, c.CertFile, c.KeyFile = nil, crt, key }, nil, ""},
		"no password":     {func(c *nsx.Config) { c.Credentials = as(nsx.Credentials{User: "admin"}) }, nsx.ErrNoCredentials, "empty"},
		"no Secret": {func(c *nsx.Config) {
			c.Credentials = func(context.Context) (nsx.Credentials, error) { return nsx.Credentials{}, errors.New("does not exist") }
		}, nsx.ErrNoCredentials, "does not exist"},
		"unknown CA": {func(c *nsx.Config) { c.CAFile = "" }, nsx.ErrCertificate, `issued by "test`},
		"insecure":   {func(c *nsx.Config) { c.CAFile, c.Insecure = "", true }, nil, ""},
		"nobody":     {func(c *nsx.Config) { c.Host = "127.0.0.1:1" }, nsx.ErrUnreachable, "connection refused"},
		"auditor":    {func(c *nsx.Config) { c.Credentials = as(nsx.Credentials{User: "auditor", Password: "right"}) }, nil, "not authorized"},
	} {
		t.Run(name, func(t *testing.T) {
			c := r.client(tc.edit)
			_, _, err := c.Create(t.Context(), "/infra/lb-pools/one", nsx.Object{"display_name": "one"})
			if tc.is == nil && tc.text == "" && err != nil || tc.is != nil && !errors.Is(err, tc.is) || tc.text != "" && (err == nil || !strings.Contains(err.Error(), tc.text)) {
				t.Errorf("%v; want %v, %q", err, tc.is, tc.text)
			}
			if name == "auditor" && !nsx.Denied(err) {
				t.Error("the error is none of a role")
			}
			if err != nil && strings.Contains(err.Error(), "wrong"+" ") {
				t.Error("the password is in the error")
			}
		})
	}
}

// TestNew: configurations that cannot work.
func TestNew(t *testing.T) {
	for _, cfg := range []nsx.Config{{}, {Host: "a b"}, {Host: "user@host"}, {Host: "host", CertFile: "x"}, {Host: "host"}} {
		if _, err := nsx.New(cfg); err == nil || !strings.HasPrefix(err.Error(), "nsx: ") {
			t.Errorf("%+v: %v", cfg, err)
		}
	}
}

// TestSessionEnds: a session that has ended is replaced within the call, once, and Close ends it.
func TestSessionEnds(t *testing.T) {
	r := start(t)
	c := r.client(nil)
	for range 2 {
		if _, err := c.List(t.Context(), "/infra/lb-pools"); err != nil {
			t.Fatal(err)
		}
		r.EndSessions()
	}
	want := []string{
		"POST /api/session/create ok", "GET /infra/lb-pools ok",
		"GET /infra/lb-pools error", "POST /api/session/create ok", "GET /infra/lb-pools ok",
	}
	if got := r.made(); !slices.Equal(got, want) {
		t.Errorf("%q, want %q", got, want)
	}
	c.Close(t.Context())
	if r.made(); r.EndSessions() != 0 {
		t.Error("Close leaves a session")
	}
}

// TestRotation: a changed password is used at once, and refused credentials are not tried again.
func TestRotation(t *testing.T) {
	r := start(t)
	var mu sync.Mutex
	password := "right"
	c := r.client(func(c *nsx.Config) {
		c.Credentials = func(context.Context) (nsx.Credentials, error) {
			mu.Lock()
			defer mu.Unlock()
			return nsx.Credentials{User: "admin", Password: password}, nil
		}
	})
	list := func() error { _, err := c.List(t.Context(), "/infra/lb-pools"); return err }
	if err := list(); err != nil {
		t.Fatal(err)
	}
	if err := r.SetPassword("admin", "new"); err != nil {
		t.Fatal(err)
	}
	r.made()
	for range 20 {
		if err := list(); !errors.Is(err, nsx.ErrCredentials) {
			t.Fatal(err)
		}
	}
	if got := r.made(); len(got) != 2 { // the ended session, and one login
		t.Errorf("refused credentials are tried again: %q", got)
	}
	mu.Lock()
	password = "new"
	mu.Unlock()
	if err := list(); err != nil {
		t.Errorf("with the new password: %v", err)
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	if len(r.state) != 3 || r.state[0] != nil || !errors.Is(r.state[1], nsx.ErrCredentials) || r.state[2] != nil {
		t.Errorf("the states are %v", r.state)
	}
}

// TestCertificateRotates: the files are read for every connection.
func TestCertificateRotates(t *testing.T) {
	r := start(t)
	crt, key := r.certificate("stranger")
	c := r.client(func(c *nsx.Config) { c.Credentials, c.CertFile, c.KeyFile = nil, crt, key })
	if _, err := c.List(t.Context(), "/infra/lb-pools"); !errors.Is(err, nsx.ErrCredentials) {
		t.Fatal(err)
	}
	r.certificate("ccm")
	c.Close(t.Context())
	if _, err := c.List(t.Context(), "/infra/lb-pools"); err != nil {
		t.Error(err)
	}
}

// TestBusy: calls that NSX has no time for are made again after Retry-After, and patience has an end.
func TestBusy(t *testing.T) {
	r := start(t)
	c := r.client(nil)
	if _, err := c.List(t.Context(), "/infra/lb-pools"); err != nil {
		t.Fatal(err)
	}
	for _, code := range []int{429, 503} {
		id := r.rule(gate.Rule{Action: gate.Throttle{Rate: 1, Code: code}})
		for i := range 2 { // the first call passes
			began := time.Now()
			_, err := c.List(t.Context(), "/infra/lb-pools")
			if took := time.Since(began); err != nil || i == 1 && took < time.Second {
				t.Errorf("%d: %v after %s: Retry-After is a second", code, err, took)
			}
		}
		if err := r.Gate().Remove(t.Context(), id); err != nil {
			t.Fatal(err)
		}
	}
	r.rule(gate.Rule{Action: gate.Throttle{Rate: 1e-9, Code: 429}})
	hasty := r.client(func(c *nsx.Config) { c.Patience = time.Millisecond })
	if _, err := hasty.List(t.Context(), "/infra/lb-pools"); !errors.Is(err, nsx.ErrBusy) {
		t.Error(err)
	}
}

// TestUpdate: a change that someone else makes in between is kept.
func TestUpdate(t *testing.T) {
	r := start(t)
	c := r.client(nil)
	o, existed, err := c.Create(t.Context(), "/infra/lb-pools/one", nsx.Object{"display_name": "one", "tags": []nsx.Tag{{Scope: "owner", Tag: "me"}}})
	if err != nil || existed || o.ID() != "one" || o.Number("_revision") != 0 || !o.Tagged(nsx.Tag{Scope: "owner", Tag: "me"}) || o.Tag("owner") != "me" {
		t.Fatal(o, existed, err)
	}
	if again, existed, err := c.Create(t.Context(), "/infra/lb-pools/one", nsx.Object{}); err != nil || !existed || again.Text("display_name") != "one" {
		t.Errorf("created again: %v, %v, %v", again, existed, err)
	}
	if err := r.Tree().Patch("/infra/lb-pools/one", tree.Object{"algorithm": "IP_HASH"}, "someone"); err != nil {
		t.Fatal(err)
	}
	asked := 0
	o, err = c.Update(t.Context(), o, func(o nsx.Object) bool {
		asked++
		o["description"] = "changed"
		return true
	})
	if err != nil || asked != 2 || o.Text("algorithm") != "IP_HASH" || o.Text("description") != "changed" || o.Number("_revision") != 2 {
		t.Errorf("%v, %v, asked %d times", o, err, asked)
	}
	r.made()
	if _, err := c.Update(t.Context(), o, func(nsx.Object) bool { return false }); err != nil || len(r.made()) != 0 {
		t.Errorf("a change of nothing makes calls: %v", err)
	}
	for range 2 {
		if err := c.Delete(t.Context(), "/infra/lb-pools/one"); err != nil {
			t.Error(err)
		}
	}
	if _, err := c.Get(t.Context(), "/infra/lb-pools/one"); !nsx.NotFound(err) {
		t.Error(err)
	}
}

// TestCutOff: a call whose answer is lost is made again, and means the same.
func TestCutOff(t *testing.T) {
	r := start(t)
	c := r.client(nil)
	if _, err := c.List(t.Context(), "/infra/lb-pools"); err != nil {
		t.Fatal(err)
	}
	r.rule(gate.Rule{Match: gate.Match{Methods: []string{"PUT /policy/*"}}, Action: gate.Reset{Bytes: 8}, Count: 1})
	o, existed, err := c.Create(t.Context(), "/infra/lb-pools/one", nsx.Object{"description": "mine"})
	if err != nil || !existed || o.Text("description") != "mine" {
		t.Errorf("%v, %v, %v", o, existed, err)
	}
}

// TestPages: a list has the objects of all its pages.
func TestPages(t *testing.T) {
	r := start(t)
	const many = 2017
	for i := range many {
		if _, err := r.Tree().Put(fmt.Sprintf("/infra/lb-pools/%04d", i), nil, "admin"); err != nil {
			t.Fatal(err)
		}
	}
	c := r.client(nil)
	all, err := c.List(t.Context(), "/infra/lb-pools")
	if err != nil || len(all) != many {
		t.Errorf("%d objects, %v", len(all), err)
	}
}

// TestRealization: the state of an object, and why it has none.
func TestRealization(t *testing.T) {
	r := start(t)
	c := r.client(nil)
	for _, o := range []struct {
		path   string
		object nsx.Object
	}{
		{"/infra/ip-pools/p", nsx.Object{}},
		{"/infra/ip-pools/p/ip-subnets/s", nsx.Object{"cidr": "10.0.0.0/24", "allocation_ranges": []nsx.Object{{"start": "10.0.0.5", "end": "10.0.0.5"}}}},
		{"/infra/ip-pools/p/ip-allocations/one", nsx.Object{}},
		{"/infra/ip-pools/p/ip-allocations/two", nsx.Object{}},
	} {
		if _, _, err := c.Create(t.Context(), o.path, o.object); err != nil {
			t.Fatal(err)
		}
	}
	one, err := c.Realization(t.Context(), "/infra/ip-pools/p/ip-allocations/one")
	if err != nil || one.State != nsx.Realized || one.Attributes["allocation_ip"] != "10.0.0.5" {
		t.Errorf("%+v, %v", one, err)
	}
	two, err := c.Realization(t.Context(), "/infra/ip-pools/p/ip-allocations/two")
	if err != nil || two.State != nsx.Failed || !strings.Contains(two.Problem, "no free address") {
		t.Errorf("%+v, %v", two, err)
	}
	if err := c.Delete(t.Context(), "/infra/ip-pools/p"); !nsx.InUse(err) {
		t.Errorf("deleting what has children: %v", err)
	}
}

// TestToken: a token of VMware Cloud is exchanged, renewed before its end and when NSX refuses it, and kept out of errors.
func TestToken(t *testing.T) {
	var exchanged, calls int
	server := httptest.NewTLSServer(http.HandlerFunc(func(w http.ResponseWriter, q *http.Request) {
		switch q.URL.Path {
		case "/authorize":
			if q.PostFormValue("refresh_token") != "secret-token" {
				http.Error(w, "invalid_grant", http.StatusBadRequest)
				return
			}
			exchanged++
			_ = json.NewEncoder(w).Encode(map[string]any{"access_token": fmt.Sprint("access-", exchanged), "expires_in": 1800})
		case "/vmc/policy/api/v1/infra/lb-pools":
			calls++
			if q.Header.Get("csp-auth-token") != fmt.Sprint("access-", exchanged) || calls == 2 {
				w.WriteHeader(http.StatusUnauthorized)
				return
			}
			_, _ = w.Write([]byte(`{"results": []}`))
		default:
			http.NotFound(w, q)
		}
	}))
	defer server.Close()
	host := server.Listener.Addr().String()
	connect := func(token string) *nsx.Client {
		c, err := nsx.New(nsx.Config{
			Host: host + "/vmc", TokenHost: host + "/authorize", Insecure: true, UserAgent: "test",
			Credentials: as(nsx.Credentials{Token: token}),
		})
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { c.Close(context.Background()) })
		return c
	}
	c := connect("secret-token")
	for range 3 {
		if _, err := c.List(t.Context(), "/infra/lb-pools"); err != nil {
			t.Fatal(err)
		}
	}
	if exchanged != 2 || calls != 4 {
		t.Errorf("%d exchanges and %d calls, want 2 and 4", exchanged, calls)
	}
	if _, err := connect("wrong-token").List(t.Context(), "/infra/lb-pools"); !errors.Is(err, nsx.ErrCredentials) || strings.Contains(err.Error(), "wrong-token") {
		t.Error(err)
	}
}

// TestProxy: an answer of a proxy before NSX is no answer of NSX.
func TestProxy(t *testing.T) {
	r := start(t)
	c := r.client(nil)
	r.rule(gate.Rule{Action: gate.HTTPStatus{Code: 502, Body: "<html>bad gateway</html>"}})
	if _, err := c.List(t.Context(), "/infra/lb-pools"); !errors.Is(err, nsx.ErrUnreachable) || strings.Contains(err.Error(), "<") {
		t.Error(err)
	}
}

// TestCanceled: a call ends with its context.
func TestCanceled(t *testing.T) {
	r := start(t)
	c := r.client(nil)
	if _, err := c.List(t.Context(), "/infra/lb-pools"); err != nil {
		t.Fatal(err)
	}
	r.made()
	r.rule(gate.Rule{Action: gate.Hang{}})
	ctx, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
	defer cancel()
	began := time.Now()
	if _, err := c.List(ctx, "/infra/lb-pools"); err == nil || time.Since(began) > 2*time.Second {
		t.Errorf("%v after %s", err, time.Since(began))
	}
	if got := r.made(); !slices.Equal(got, []string{"GET /infra/lb-pools timeout"}) {
		t.Errorf("%q", got)
	}
}
