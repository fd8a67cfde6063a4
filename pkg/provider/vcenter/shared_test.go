package vcenter_test

import (
	"context"
	"crypto/tls"
	"encoding/json"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/vsphere-sandbox/vsphere-sandbox/internal/cert"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/provider/vcenter"
)

// sessionManager returns clone tickets of an administrator session to every client with the token.
func (v *target) sessionManager(t *testing.T, token string) (url string, asked *atomic.Int32) {
	t.Helper()
	admin := v.admin(t)
	asked = new(atomic.Int32)
	srv := httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		asked.Add(1)
		if r.Method != http.MethodGet || r.Header.Get("Authorization") != "Bearer "+token {
			w.WriteHeader(http.StatusForbidden)
			return
		}
		ticket, err := admin.SessionManager.AcquireCloneTicket(r.Context())
		if err != nil {
			t.Error(err)
		}
		if err := json.NewEncoder(w).Encode(map[string]string{"token": ticket}); err != nil {
			t.Error(err)
		}
	}))
	pair, err := v.ca.Sign(cert.Leaf{CommonName: "session manager", IPs: []net.IP{net.IPv4(127, 0, 0, 1)}})
	if err != nil {
		t.Fatal(err)
	}
	srv.TLS = &tls.Config{Certificates: []tls.Certificate{pair.TLS()}}
	srv.StartTLS()
	t.Cleanup(srv.Close)
	return srv.URL + "/session?tenant=secret", asked
}

// A session manager's session serves SOAP and REST; when it ends, another one is requested.
func TestSharedSession(t *testing.T) {
	for _, tc := range []struct {
		name  string
		token string // in the credentials; otherwise in the file
	}{
		{"token of its own", "given"},
		{"the ServiceAccount's token", ""},
	} {
		t.Run(tc.name, func(t *testing.T) {
			v := start(t)
			cfg := v.config()
			cfg.TokenFile = filepath.Join(t.TempDir(), "token")
			if err := os.WriteFile(cfg.TokenFile, []byte("mounted\n"), 0o600); err != nil {
				t.Fatal(err)
			}
			want := tc.token
			if want == "" {
				want = "mounted"
			}
			url, asked := v.sessionManager(t, want)
			cfg.Credentials = func(context.Context) (vcenter.Credentials, error) {
				return vcenter.Credentials{SessionManagerURL: url, SessionManagerToken: tc.token}, nil
			}
			c, stop := run(t, cfg)
			connect(t, c)
			admin := v.admin(t)
			works := func() {
				t.Helper()
				for _, call := range []func(*vcenter.Client, context.Context) error{now, categories} {
					if err := call(c, t.Context()); err != nil {
						t.Error(err)
					}
				}
				if soap, rest := v.open(); len(soap) != 3 || len(rest) != 0 { // the manager's, the admin's and ours
					t.Errorf("sessions %v %v", soap, rest)
				}
			}
			works()
			end := func() {
				t.Helper()
				own := connect(t, c)
				for _, key := range ours(t, v) {
					if err := admin.SessionManager.TerminateSession(t.Context(), []string{key}); err != nil {
						t.Fatal(err)
					}
				}
				if err := categories(c, t.Context()); err != nil { // REST is the first to notice
					t.Error(err)
				}
				<-own.Done()
			}
			end()
			works()
			if n := asked.Load(); n != 2 {
				t.Errorf("%d tickets asked for, want 2", n)
			}
			if all, _ := v.calls("Login"); all != 0 {
				t.Errorf("%d logins", all)
			}
			stop()
			if keys := ours(t, v); len(keys) != 0 {
				t.Errorf("sessions left: %v", keys)
			}
		})
	}
}

// ours returns the sessions of the client with the test's agent.
func ours(t *testing.T, v *target) (keys []string) {
	t.Helper()
	admin := v.admin(t)
	defer func() { _ = admin.SessionManager.Logout(t.Context()) }()
	for _, s := range sessionList(t, admin) {
		if s.UserAgent == agent {
			keys = append(keys, s.Key)
		}
	}
	return keys
}

// A failure of a session manager is reported without its token or the rest of its URL.
func TestSharedSessionRefused(t *testing.T) {
	v := start(t)
	url, _ := v.sessionManager(t, "right")
	for _, tc := range []struct{ name, url, token, file, want string }{
		{"wrong token", url, "wrong-token", "", "403 Forbidden"},
		{"no token", url, "", "/nonexistent/token", "no such file"},
		{"nobody there", "https://127.0.0.1:1/session?tenant=secret", "right", "", "refused"},
		{"no address", "https://127.0.0.1:x", "right", "", "invalid"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			cfg := v.config()
			cfg.TokenFile = tc.file
			cfg.Credentials = func(context.Context) (vcenter.Credentials, error) {
				return vcenter.Credentials{SessionManagerURL: tc.url, SessionManagerToken: tc.token}, nil
			}
			states := make(chan vcenter.State, 100)
			cfg.OnState = func(s vcenter.State) { states <- s }
			run(t, cfg)
			s := <-states
			if s.Connected || s.Err == nil || !strings.Contains(s.Err.Error(), tc.want) || !strings.Contains(s.Err.Error(), "session manager") {
				t.Errorf("state %+v, want %q", s, tc.want)
			}
			for _, secret := range []string{"wrong-token", "tenant=secret"} {
				if strings.Contains(s.Err.Error(), secret) {
					t.Errorf("error %v tells %q", s.Err, secret)
				}
			}
		})
	}
}
