package rest_test

import (
	"encoding/json"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/sim/access"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/sim/rest"
)

var _ rest.Sessions = (*access.Manager)(nil)

func basic(t *testing.T, user, password string) []string {
	t.Helper()
	r, _ := http.NewRequestWithContext(t.Context(), http.MethodPost, "https://127.0.0.1", nil)
	r.SetBasicAuth(user, password)
	return []string{"Authorization", r.Header.Get("Authorization")}
}

func TestSession(t *testing.T) {
	for _, f := range flavors {
		t.Run(f.name, func(t *testing.T) {
			v := newVCenter(t, nil)
			v.id = ""
			path, get, created, cookiePath := "/rest/com/vmware/cis/session", "POST /rest/com/vmware/cis/session?~action=get", 200, "/rest"
			if f.api {
				path, get, created, cookiePath = "/api/session", "GET /api/session", 201, "/api"
			}
			method, getPath, _ := strings.Cut(get, " ")

			for name, headers := range map[string][]string{
				"nothing":        nil,
				"wrong password": basic(t, admin, "wrong"),
				"token":          {"Authorization", "SIGN token=x"},
			} {
				if a := v.do(t, http.MethodPost, path, nil, headers...); a.status != http.StatusUnauthorized ||
					a.header.Get("WWW-Authenticate") == "" || !strings.Contains(a.body, "Authentication required.") {
					t.Errorf("%s: %+v", name, a)
				}
			}

			a := v.do(t, http.MethodPost, path, nil, basic(t, admin, password)...)
			if a.status != created {
				t.Fatalf("login: %+v", a)
			}
			id := value[string](t, f, a)
			c, err := http.ParseSetCookie(a.header.Get("Set-Cookie"))
			if err != nil || c.Name != "vmware-api-session-id" || c.Value != id || c.Path != cookiePath {
				t.Errorf("cookie %v, %v", c, err)
			}
			a = v.do(t, http.MethodPost, path, nil, append(basic(t, admin, password), "vmware-use-header-authn", "true")...)
			if a.header.Get("Set-Cookie") != "" {
				t.Errorf("a cookie that was not wanted: %+v", a)
			}

			type session struct {
				User     string    `json:"user"`
				Created  time.Time `json:"created_time"`
				Accessed time.Time `json:"last_accessed_time"`
			}
			for name, headers := range map[string][]string{
				"header": {"vmware-api-session-id", id},
				"cookie": {"Cookie", "vmware-api-session-id=" + id},
			} {
				a := v.do(t, method, getPath, nil, headers...)
				if s := value[session](t, f, a); s.User != admin || time.Since(s.Created) > time.Minute || s.Accessed.Before(s.Created) {
					t.Errorf("%s: %+v", name, s)
				}
			}

			status := http.StatusOK
			if f.api {
				status = http.StatusNoContent
			}
			if a := v.do(t, http.MethodDelete, path, nil, "vmware-api-session-id", id); a.status != status || a.body != "" {
				t.Errorf("logout: %+v", a)
			}
			for _, method := range []string{http.MethodDelete, http.MethodGet} {
				if a := v.do(t, method, path, nil, "vmware-api-session-id", id); a.status != http.StatusUnauthorized {
					t.Errorf("%s after logout: %+v", method, a)
				}
			}
			if a := v.do(t, http.MethodPut, path, nil); a.status != http.StatusNotFound {
				t.Errorf("put: %+v", a)
			}
		})
	}
}

// TestSessionIsGood in both forms of the API, whichever it was opened with.
func TestSessionIsGood(t *testing.T) {
	v := newVCenter(t, nil)
	v.id = ""
	a := v.do(t, http.MethodPost, "/api/session", nil, basic(t, admin, password)...)
	v.id = value[string](t, flavors[1], a)
	for _, f := range flavors {
		if a := v.do(t, http.MethodGet, f.path("tag", "", ""), nil); a.status != http.StatusOK {
			t.Errorf("%s: %+v", f.name, a)
		}
	}
	v.sessions.CloseREST(v.id) // as when it expires or is terminated
	if a := v.do(t, http.MethodGet, "/api/session", nil); a.status != http.StatusUnauthorized {
		t.Errorf("session that is over: %+v", a)
	}
}

func TestTooManySessions(t *testing.T) {
	v := newVCenter(t, func(o *rest.Options) { o.Sessions.(*sessions).limit = 1 })
	a := v.do(t, http.MethodPost, "/api/session", nil, basic(t, admin, password)...)
	if a.status != http.StatusServiceUnavailable || !strings.Contains(a.body, "SERVICE_UNAVAILABLE") ||
		!strings.Contains(a.body, "failedToLoginMaxUserSessionCountReached") {
		t.Errorf("%+v", a)
	}
}

// value decodes an answer.
func value[T any](t *testing.T, f flavor, a answer) T {
	t.Helper()
	var v T
	var into any = &v
	if !f.api {
		into = &struct{ Value any }{&v}
	}
	if err := json.Unmarshal([]byte(a.body), into); err != nil {
		t.Errorf("%+v: %v", a, err)
	}
	return v
}
