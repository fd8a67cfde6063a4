package guard

import (
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"
)

// ask shows the guard a request with a body of JSON, or with none.
func ask(method, target, body, contentType string) (Intent, error) {
	r := httptest.NewRequest(method, target, strings.NewReader(body))
	r.URL.Host = "" // a server's request has none
	if contentType != "" {
		r.Header.Set("Content-Type", contentType)
	}
	return ParseIntent(r, []byte(body))
}

// TestEveryEntry asks for each entry of the list, which passes, and for what is beside it, which does not unless it is an
// entry, too.
func TestEveryEntry(t *testing.T) {
	all := entries()
	known := func(method, p, action string) bool {
		return slices.ContainsFunc(all, func(e entry) bool { return e.method == method && e.action == action && matches(e.path, p) })
	}
	for _, e := range all {
		p := strings.ReplaceAll(e.path, "*", "urn:vmomi:InventoryServiceTag:5c2d:GLOBAL")
		key, body := "action", ""
		if strings.HasPrefix(p, "/rest/") {
			key = "~action"
		}
		other := map[string]string{"action": "~action", "~action": "action"}[key]
		with := func(key, action string) string {
			if action == "" {
				return p
			}
			return p + "?" + key + "=" + action
		}
		if e.body {
			body = `{"object_id":{"type":"VirtualMachine","id":"vm-1"}}`
		}
		typed := ""
		if e.method == http.MethodPost {
			typed = "application/json"
		}
		if in, err := ask(e.method, with(key, e.action), body, typed); err != nil || in.Write != (e.write != "") || in.Do.Kind != e.write {
			t.Errorf("%+v: %+v, %v", e, in, err)
		}
		for _, parameter := range e.parameters {
			sign := map[bool]string{true: "?", false: "&"}[e.action == ""]
			if _, err := ask(e.method, with(key, e.action)+sign+parameter+"=x", body, typed); err != nil {
				t.Errorf("%+v with %s: %v", e, parameter, err)
			}
			if in, err := ask(e.method, with(key, e.action)+sign+parameter+"=x&"+parameter+"=y", body, typed); err == nil {
				t.Errorf("%+v with %s twice: %+v", e, parameter, in)
			}
		}

		refused := func(why, method, target, body, typed string) {
			t.Helper()
			if in, err := ask(method, target, body, typed); err == nil {
				t.Errorf("%+v: %s: %s %s: %+v", e, why, method, target, in)
			}
		}
		for _, m := range []string{"GET", "POST", "PUT", "PATCH", "DELETE", "HEAD", "OPTIONS", "TRACE", "PROPFIND", "MOVE", "get"} {
			if !known(m, p, e.action) {
				refused("another method", m, with(key, e.action), body, typed)
			}
		}
		for _, action := range []string{"create", "delete", "list", "get-x", "attach-tag-to-multiple-objects", e.action + "x", "LIST-ATTACHED-TAGS"} {
			if !known(e.method, p, action) {
				refused("another action", e.method, with(key, action), body, typed)
			}
		}
		if e.action != "" {
			refused("the other key", e.method, with(other, e.action), body, typed)
			refused("both keys", e.method, with(key, e.action)+"&"+other+"="+e.action, body, typed)
			refused("twice", e.method, with(key, e.action)+"&"+key+"="+e.action, body, typed)
			if !known(e.method, p, "") {
				refused("no action", e.method, p, body, typed)
			}
		}
		for _, beside := range []string{p + "/x", p + "/", p + "/.", p + "/..", p + ";x=y", "/x" + p, "/" + p, p + "%2f..", p + "%00", strings.ToUpper(p)} {
			if !known(e.method, beside, e.action) {
				refused("another path", e.method, strings.Replace(with(key, e.action), p, beside, 1), body, typed)
			}
		}
		sign := map[bool]string{true: "?", false: "&"}[e.action == ""]
		for _, parameter := range []string{"x=y", "~method=DELETE", "_method=DELETE", "vmw-task=true"} {
			refused("a parameter", e.method, with(key, e.action)+sign+parameter, body, typed)
		}
		for _, typed := range []string{"text/xml", "application/xml", "application/x-www-form-urlencoded", "multipart/form-data; boundary=x", "application/json; charset=utf-16", "application/json, text/xml"} {
			refused("another type", e.method, with(key, e.action), body, typed)
		}
		if !e.body {
			refused("a body", e.method, with(key, e.action), "{}", "application/json")
		}
	}
}
