package rest_test

import (
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/sim/rest"
)

// flavor is one of the two forms of the API.
type flavor struct {
	name string
	api  bool
}

var flavors = []flavor{{"rest", false}, {"api", true}}

// path is the path of an operation of tagging.
func (f flavor) path(service, id, action string) string {
	p, q := "/rest/com/vmware/cis/tagging/"+service, "?~action="
	if f.api {
		p, q = "/api/cis/tagging/"+service, "?action="
	}
	if id != "" && !f.api {
		p += "/id:" + id
	} else if id != "" {
		p += "/" + id
	}
	if action != "" {
		p += q + action
	}
	return p
}

// spec is the body of a structure.
func (f flavor) spec(name string, v any) any {
	if f.api {
		return v
	}
	return map[string]any{name: v}
}

// check compares an answer with a value, nil for none.
func (f flavor) check(t *testing.T, what string, a answer, status int, want any) {
	t.Helper()
	if !f.api {
		status = http.StatusOK
	}
	if a.status != status {
		t.Errorf("%s: status %d, want %d: %s", what, a.status, status, a.body)
		return
	}
	if want == nil {
		if a.body != "" {
			t.Errorf("%s: body %s, want none", what, a.body)
		}
		return
	}
	b, _ := json.Marshal(want)
	if !f.api {
		b = fmt.Appendf(nil, `{"value":%s}`, b)
	}
	if d := cmp.Diff(string(b), a.body); d != "" {
		t.Errorf("%s: %s", what, d)
	}
}

// TestEveryEndpoint makes every call in both forms.
func TestEveryEndpoint(t *testing.T) {
	type m = map[string]any
	for _, f := range flavors {
		t.Run(f.name, func(t *testing.T) {
			v := newVCenter(t, nil)
			vms := v.vms()
			vm0, vm1 := wire(vms[0]), wire(vms[1])
			do := func(method, service, id, action string, body any) answer {
				return v.do(t, method, f.path(service, id, action), body)
			}
			post := func(service, id, action string, body any) answer {
				return do(http.MethodPost, service, id, action, body)
			}
			good := struct {
				Success bool  `json:"success"`
				Errors  []any `json:"error_messages"`
			}{true, []any{}}
			const category, tags, on = "category", "tag", "tag-association"

			f.check(t, "no categories", do("GET", category, "", "", nil), 200, []string{})
			f.check(t, "create category", post(category, "", "", f.spec("create_spec", m{
				"name": "zone", "description": "d",
				"cardinality": "MULTIPLE", "associable_types": []string{"VirtualMachine"}, "category_id": cat("z"),
			})), 201, cat("z"))
			f.check(t, "update category", do("PATCH", category, cat("z"), "", f.spec("update_spec", m{"name": "k8s-zone"})), 204, nil)
			f.check(t, "add to used by", post(category, cat("z"), "add-to-used-by", m{"used_by_entity": "cpi"}), 204, nil)
			f.check(t, "get category", do("GET", category, cat("z"), "", nil), 200, rest.Category{
				ID: cat("z"), Name: "k8s-zone",
				Description: "d", Cardinality: "MULTIPLE", AssociableTypes: []string{"VirtualMachine"}, UsedBy: []string{"cpi"},
			})
			f.check(t, "list categories", do("GET", category, "", "", nil), 200, []string{cat("z")})
			f.check(t, "list used", post(category, "", "list-used-categories", m{"used_by_entity": "cpi"}), 200, []string{cat("z")})
			f.check(t, "remove from used by", post(category, cat("z"), "remove-from-used-by", m{"used_by_entity": "cpi"}), 204, nil)
			f.check(t, "list used no more", post(category, "", "list-used-categories", m{"used_by_entity": "cpi"}), 200, []string{})
			f.check(t, "revoke", post(category, cat("z"), "revoke-propagating-permissions", nil), 204, nil)

			for _, name := range []string{"a", "b"} {
				f.check(t, "create tag", post(tags, "", "", f.spec("create_spec", m{
					"name": name, "description": "",
					"category_id": cat("z"), "tag_id": tag(name),
				})), 201, tag(name))
			}
			f.check(t, "update tag", do("PATCH", tags, tag("a"), "", f.spec("update_spec", m{"description": "first"})), 204, nil)
			f.check(t, "use tag", post(tags, tag("a"), "add-to-used-by", m{"used_by_entity": "cpi"}), 204, nil)
			f.check(t, "get tag", do("GET", tags, tag("a"), "", nil), 200,
				rest.Tag{ID: tag("a"), CategoryID: cat("z"), Name: "a", Description: "first", UsedBy: []string{"cpi"}})
			f.check(t, "list tags", do("GET", tags, "", "", nil), 200, []string{tag("a"), tag("b")})
			f.check(t, "list used tags", post(tags, "", "list-used-tags", m{"used_by_entity": "cpi"}), 200, []string{tag("a")})
			f.check(t, "unuse tag", post(tags, tag("a"), "remove-from-used-by", m{"used_by_entity": "cpi"}), 204, nil)
			f.check(t, "revoke", post(tags, tag("a"), "revoke-propagating-permissions", nil), 204, nil)
			f.check(t, "tags of category", post(tags, cat("z"), "list-tags-for-category", nil), 200, []string{tag("a"), tag("b")})
			f.check(t, "tags of category, by body", post(tags, "", "list-tags-for-category", m{"category_id": cat("z")}), 200,
				[]string{tag("a"), tag("b")})

			f.check(t, "attachable", post(on, "", "list-attachable-tags", m{"object_id": vm0}), 200, []string{tag("a"), tag("b")})
			f.check(t, "attach", post(on, tag("a"), "attach", m{"object_id": vm0}), 204, nil)
			f.check(t, "attach, by body", post(on, "", "attach", m{"object_id": vm0, "tag_id": tag("a")}), 204, nil)
			f.check(t, "attachable then", post(on, "", "list-attachable-tags", m{"object_id": vm0}), 200, []string{tag("b")})
			f.check(t, "attach to objects", post(on, tag("b"), "attach-tag-to-multiple-objects", m{"object_ids": []any{vm0, vm1}}), 200,
				good)
			f.check(t, "attached tags", post(on, "", "list-attached-tags", m{"object_id": vm0}), 200, []string{tag("a"), tag("b")})
			f.check(t, "attached objects", post(on, tag("b"), "list-attached-objects", nil), 200, refs(vm0, vm1))
			f.check(t, "tags on objects", post(on, "", "list-attached-tags-on-objects", m{"object_ids": []any{
				vm0, vm1,
				m{"type": "VirtualMachine", "id": "vm-none"},
			}}), 200, []any{
				tagsOn{ref(vm0), []string{tag("a"), tag("b")}}, tagsOn{ref(vm1), []string{tag("b")}},
			})
			f.check(t, "objects on tags", post(on, "", "list-attached-objects-on-tags", m{"tag_ids": []string{tag("b"), tag("none"), tag("a")}}),
				200, []any{objectsOn{tag("b"), refs(vm0, vm1)}, objectsOn{tag("a"), refs(vm0)}})
			f.check(t, "detach", post(on, tag("b"), "detach", m{"object_id": vm1}), 204, nil)
			f.check(t, "detach again", post(on, tag("b"), "detach", m{"object_id": vm1}), 204, nil)
			f.check(t, "detach tags", post(on, "", "detach-multiple-tags-from-object", m{"object_id": vm0, "tag_ids": []string{tag("a"), tag("b")}}),
				200, good)
			f.check(t, "nothing attached", post(on, "", "list-attached-tags", m{"object_id": vm0}), 200, []string{})
			f.check(t, "attach tags", post(on, "", "attach-multiple-tags-to-object", m{"object_id": vm1, "tag_ids": []string{tag("a"), tag("b")}}),
				200, good)
			f.check(t, "detach from objects", post(on, tag("a"), "detach-tag-from-multiple-objects", m{"object_ids": []any{vm0, vm1}}), 200,
				good)
			f.check(t, "no objects", post(on, tag("a"), "list-attached-objects", nil), 200, []any{})

			f.check(t, "delete tag", do("DELETE", tags, tag("b"), "", nil), 204, nil)
			f.check(t, "tags left", post(on, "", "list-attached-tags", m{"object_id": vm1}), 200, []string{})
			f.check(t, "delete category", do("DELETE", category, cat("z"), "", nil), 204, nil)
			f.check(t, "no tags", do("GET", tags, "", "", nil), 200, []string{})
		})
	}
}

type ref map[string]string

// MarshalJSON keeps the order of the API's answers.
func (r ref) MarshalJSON() ([]byte, error) {
	return fmt.Appendf(nil, `{"type":%q,"id":%q}`, r["type"], r["id"]), nil
}

func refs(all ...map[string]string) []ref {
	out := make([]ref, len(all))
	for i, r := range all {
		out[i] = r
	}
	return out
}

type tagsOn struct {
	Object ref      `json:"object_id"`
	Tags   []string `json:"tag_ids"`
}

type objectsOn struct {
	Tag     string `json:"tag_id"`
	Objects []ref  `json:"object_ids"`
}

// TestErrors holds the errors as they are on the wire.
func TestErrors(t *testing.T) {
	v := newVCenter(t, nil)
	v.category(t, "zone", rest.Single, []string{"VirtualMachine"}, "a", "b")
	vm := v.vms()[0]
	if err := v.Attach(tag("a"), vm); err != nil {
		t.Fatal(err)
	}
	type m = map[string]any
	for _, tc := range []struct {
		name, method, service, id, action string
		body                              any
		spec                              string // the parameter that body is
		session                           string
		status                            int
		kind, messages                    string
	}{
		{
			name: "no session", method: "GET", service: "tag", session: "none", status: 401, kind: "unauthenticated",
			messages: `[{"args":[],"default_message":"Authentication required.","id":"com.vmware.vapi.endpoint.method.authentication.required"}]`,
		},
		{
			name: "no tag", method: "GET", service: "tag", id: "x", status: 404, kind: "not_found",
			messages: `[{"args":["x"],"default_message":"Tagging object x not found","id":"cis.tagging.objectNotFound.error"}]`,
		},
		{
			name: "no category", method: "DELETE", service: "category", id: "x", status: 404, kind: "not_found",
			messages: `[{"args":["x"],"default_message":"Tagging object x not found","id":"cis.tagging.objectNotFound.error"}]`,
		},
		{
			name: "no operation", method: "PUT", service: "tag", status: 404, kind: "not_found",
			messages: `[{"args":[],"default_message":"Not found.","id":"com.vmware.vapi.rest.httpNotFound"}]`,
		},
		{
			name: "no action", method: "POST", service: "tag", action: "dance", status: 404, kind: "not_found",
			messages: `[{"args":[],"default_message":"Not found.","id":"com.vmware.vapi.rest.httpNotFound"}]`,
		},
		{
			name: "name taken", method: "POST", service: "category", spec: "create_spec", status: 400, kind: "already_exists",
			body:     m{"name": "zone", "description": "", "cardinality": "SINGLE", "associable_types": []string{}},
			messages: `[{"args":["zone"],"default_message":"Category zone already exists","id":"cis.tagging.duplicateName.error"}]`,
		},
		{
			name: "tag name taken", method: "POST", service: "tag", spec: "create_spec", status: 400, kind: "already_exists",
			body:     m{"name": "a", "description": "", "category_id": cat("zone")},
			messages: `[{"args":["a"],"default_message":"Tag a already exists","id":"cis.tagging.duplicateName.error"}]`,
		},
		{
			name: "no description", method: "POST", service: "tag", spec: "create_spec", status: 400, kind: "invalid_argument",
			body: m{"name": "c", "category_id": cat("zone")},
			messages: `[{"args":["create_spec","description"],"default_message":"Structure 'create_spec' is missing a field: description",` +
				`"id":"vapi.data.structure.field.missing"}]`,
		},
		{
			name: "foreign ID", method: "POST", service: "tag", spec: "create_spec", status: 400, kind: "invalid_argument",
			body:     m{"name": "c", "description": "", "category_id": cat("zone"), "tag_id": "mine"},
			messages: `[{"args":[],"default_message":"Invalid tag ID: \"mine\"","id":"cis.tagging.invalidArgument.error"}]`,
		},
		{
			name: "cardinality", method: "POST", service: "tag-association", id: tag("b"), action: "attach", body: m{"object_id": wire(vm)},
			status: 400, kind: "invalid_argument",
			messages: `[{"args":[],"default_message":"Tagging cardinality violation","id":"cis.tagging.attach.invalidArgument.cardinality.error"}]`,
		},
		{
			name: "no object", method: "POST", service: "tag-association", id: tag("b"), action: "attach",
			body: m{"object_id": m{"type": "VirtualMachine", "id": "vm-none"}}, status: 403, kind: "unauthorized",
			messages: `[{"args":[],"default_message":"Unable to authorize user","id":"vapi.security.authorization.invalid"}]`,
		},
		{
			name: "not JSON", method: "POST", service: "tag-association", id: tag("b"), action: "attach", body: "{",
			status: 400, kind: "invalid_argument",
			messages: `[{"args":[],"default_message":"Invalid JSON: unexpected end of JSON input","id":"cis.tagging.invalidArgument.error"}]`,
		},
	} {
		for _, f := range flavors {
			t.Run(tc.name+"/"+f.name, func(t *testing.T) {
				body := tc.body
				if tc.spec != "" {
					body = f.spec(tc.spec, body)
				}
				var headers []string
				if tc.session != "" {
					headers = []string{"vmware-api-session-id", tc.session}
				}
				a := v.do(t, tc.method, f.path(tc.service, tc.id, tc.action), body, headers...)
				want := `{"type":"com.vmware.vapi.std.errors.` + tc.kind + `","value":{"messages":` + tc.messages + `}}`
				if f.api {
					want = `{"error_type":"` + strings.ToUpper(tc.kind) + `","messages":` + tc.messages + `}`
					if tc.status == http.StatusUnauthorized {
						want = strings.TrimSuffix(want, "}") + `,"challenge":"Basic realm=\"VAPI endpoint\""}`
					}
				}
				if d := cmp.Diff(want, a.body); d != "" || a.status != tc.status || a.header.Get("Content-Type") != "application/json" {
					t.Errorf("status %d, want %d: %s", a.status, tc.status, d)
				}
			})
		}
	}
}
