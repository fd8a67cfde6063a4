package rest_test

import (
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"testing"

	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/sim/rest"
)

// FuzzTagging: every request has an answer, and errors are JSON with the right status.
func FuzzTagging(f *testing.F) {
	v := newVCenter(f, nil)
	v.category(f, "zone", rest.Single, nil, "a")
	vm := `{"type":"VirtualMachine","id":"` + v.vms()[0].Value + `"}`
	for _, fl := range flavors {
		for _, seed := range []struct{ method, path, body string }{
			{"POST", fl.path("tag-association", tag("a"), "attach"), `{"object_id":` + vm + `}`},
			{"POST", fl.path("tag-association", "", "list-attached-tags-on-objects"), `{"object_ids":[` + vm + `,null,{}]}`},
			{"POST", fl.path("tag-association", "", "attach-multiple-tags-to-object"), `{"object_id":` + vm + `,"tag_ids":["x",1]}`},
			{"POST", fl.path("tag", "", ""), `{"create_spec":{"name":"x"},"name":"x","description":"","category_id":"y"}`},
			{"PATCH", fl.path("category", cat("zone"), ""), `{"update_spec":{"associable_types":{}}}`},
			{"DELETE", fl.path("category", "%zz", ""), `null`},
			{"GET", fl.path("category", "", "") + "/", `[]`},
			{"POST", "/rest/com/vmware/cis/session?~action=get", ``},
			{"GET", "/api/session", `{`},
		} {
			f.Add(seed.method, seed.path, seed.body)
		}
	}
	f.Fuzz(func(t *testing.T, method, path, body string) {
		u, err := url.Parse(path)
		if err != nil {
			return // not a request
		}
		switch {
		case strings.HasPrefix(u.Path, "/rest/com/vmware/cis/tagging/"), strings.HasPrefix(u.Path, "/api/cis/tagging/"),
			u.Path == "/api/session":
		default:
			u.Path = "/api/cis/tagging/" + u.Path
		}
		r := httptest.NewRequest(http.MethodGet, "/", strings.NewReader(body))
		r.Method, r.URL = method, u
		r.Header.Set("vmware-api-session-id", v.id)
		w := httptest.NewRecorder()
		v.ServeHTTP(w, r)
		v.sessions.mu.Lock()
		v.sessions.of[v.id] = admin // if the fuzzer has logged out
		v.sessions.mu.Unlock()
		switch b := w.Body.Bytes(); {
		case w.Code >= 500:
			t.Fatalf("%s %s: status %d: %s", method, path, w.Code, b)
		case (w.Code >= 400 || len(b) > 0) && !json.Valid(b):
			t.Fatalf("%s %s: status %d: not JSON: %s", method, path, w.Code, b)
		case w.Code >= 400 && !strings.Contains(string(b), "default_message"):
			t.Fatalf("%s %s: status %d without a message: %s", method, path, w.Code, b)
		}
	})
}
