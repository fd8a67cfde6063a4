package gate

import (
	"encoding/json"
	"net/http"
	"strings"

	"github.com/vmware/govmomi/vim25/types"
)

// isREST tells whether a path belongs to the Automation API.
func isREST(path string) bool {
	return under(path, "/rest") || under(path, "/api")
}

func under(path, dir string) bool {
	rest, ok := strings.CutPrefix(path, dir)
	return ok && (rest == "" || rest[0] == '/')
}

// restMethod names a REST call so that calls of one kind share a name: identifiers become {id}, and of the query only
// ~action and action, which select the operation, are kept. Paths outside /rest and /api name files, so only their first
// element is kept.
func restMethod(r *http.Request) string {
	segments := strings.Split(strings.Trim(r.URL.Path, "/"), "/")
	if segments[0] == "rest" || segments[0] == "api" {
		for i, s := range segments {
			if strings.ContainsAny(s, ":") || len(s) >= 32 {
				segments[i] = "{id}"
			}
		}
	} else {
		segments = segments[:1]
	}
	name := r.Method + " /" + strings.Join(segments, "/")
	if r.URL.RawQuery != "" {
		q := r.URL.Query()
		for _, key := range []string{"~action", "action"} {
			if v := q.Get(key); v != "" {
				name += "?" + key + "=" + v
				break
			}
		}
	}
	if len(name) > maxName {
		name = name[:maxName]
	}
	return strings.ToValidUTF8(name, "�")
}

// mentionedJSON returns the references in a body of the Automation API: the objects with an id and a type.
func mentionedJSON(body []byte) []types.ManagedObjectReference {
	var document any
	if json.Unmarshal(body, &document) != nil {
		return nil
	}
	var refs []types.ManagedObjectReference
	var walk func(any)
	walk = func(v any) {
		switch v := v.(type) {
		case []any:
			for _, e := range v {
				walk(e)
			}
		case map[string]any:
			id, _ := v["id"].(string)
			if kind, _ := v["type"].(string); kind != "" && id != "" {
				refs = append(refs, types.ManagedObjectReference{Type: kind, Value: id})
			}
			for _, e := range v {
				walk(e)
			}
		}
	}
	walk(document)
	return refs
}
