package vcenter

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/vmware/govmomi/vim25/soap"
	"github.com/vmware/govmomi/vim25/types"
)

// The reason of a failure decides the pause before the next attempt.
func TestPause(t *testing.T) {
	c := &Client{cfg: Config{
		Retry:      Backoff{Min: time.Second, Max: time.Second},
		FaultRetry: Backoff{Min: time.Minute, Max: time.Minute},
	}}
	const none, soon, later = 0, time.Second, time.Minute
	for _, tc := range []struct {
		name string
		err  error
		most time.Duration
	}{
		{"nothing", nil, none},
		{"refused: logins says how long", fmt.Errorf("x: %w", ErrInvalidLogin), none},
		{"nobody listens", &url.Error{Op: "Post", Err: errors.New("connection refused")}, soon},
		{"no answer before the timeout", context.DeadlineExceeded, soon},
		{"cut", io.ErrUnexpectedEOF, soon},
		{"a certificate, met while dialing", &url.Error{Op: "Post", Err: fmt.Errorf("%w: x", ErrCertificate)}, later},
		{"no session to share, for whatever reason", fmt.Errorf("%w: %w", errManager, io.EOF), later},
		{"no credentials", ErrNoCredentials, later},
		{"a fault", soap.WrapVimFault(&types.SystemError{}), later},
	} {
		if d := c.pause(3, tc.err); d > tc.most || d < tc.most/2 {
			t.Errorf("%s: %s, want %s", tc.name, d, tc.most)
		}
	}
}

func TestRESTMethod(t *testing.T) {
	for path, want := range map[string]string{
		"/rest/com/vmware/cis/session":                                                     "GET /com/vmware/cis/session",
		"/rest/com/vmware/cis/session?~action=get":                                         "GET /com/vmware/cis/session?~action=get",
		"/rest/com/vmware/cis/tagging/tag/id:urn:vmomi:InventoryServiceTag:x:GLOBAL":       "GET /com/vmware/cis/tagging/tag",
		"/rest/com/vmware/cis/tagging/tag/id:x?~action=list-attached":                      "GET /com/vmware/cis/tagging/tag?~action=list-attached",
		"/api/vcenter/namespaces/0e0b3ac8-5b1b-4e2c-9d3e-0123456789ab/access?action=check": "GET /api/vcenter/namespaces/access?action=check",
		"/api/vcenter/vm?names=worker-1":                                                   "GET /api/vcenter/vm",
		"/":                                                                                "GET ",
	} {
		if got := restMethod(httptest.NewRequestWithContext(t.Context(), http.MethodGet, path, nil)); got != want {
			t.Errorf("%s: %q, want %q", path, got, want)
		}
	}
}

// Printing credentials by mistake does no harm.
func TestCredentialsString(t *testing.T) {
	for want, c := range map[string]Credentials{
		`user "u"`:                             {User: "u", Password: "secret"},
		"certificate":                          {User: "-----BEGIN CERTIFICATE-----\nc2VjcmV0\n-----END CERTIFICATE-----\n", Password: "secret"},
		"session manager https://sm.example/x": {SessionManagerURL: "https://me:secret@sm.example/x?key=secret", SessionManagerToken: "secret"},
		"session manager with an invalid address": {
			SessionManagerURL: "https://sm.example:secret/", SessionManagerToken: "secret",
		},
	} {
		for _, format := range []string{"%v", "%s", "%+v"} {
			if got := fmt.Sprintf(format, c); got != want {
				t.Errorf("%s: %q, want %q", format, got, want)
			}
		}
		if got := fmt.Sprintf("%#v", c); strings.Contains(got, "secret") {
			t.Errorf("%s", got)
		}
	}
}

// The name in a refused login shows a carriage return that YAML made of DOMAIN\rancher as one (finding A4).
func TestQuotedUser(t *testing.T) {
	for name, want := range map[string]string{
		`LAB\rancher`: `user "LAB\rancher"`, "lab.local\rancher": `user "lab.local" + U+000D + "ancher"`, "\tx\n\n": `user U+0009 + "x" + U+000A + U+000A`,
	} {
		if got := (Credentials{User: name, Password: "hush"}).String(); got != want {
			t.Errorf("%q: %s, want %s", name, got, want)
		}
	}
}
