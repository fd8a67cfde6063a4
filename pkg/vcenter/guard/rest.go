package guard

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"slices"
	"strings"

	"github.com/vmware/govmomi/vim25/types"
)

// entry is an allowed request outside of SOAP, such as the Automation API.
type entry struct {
	method string
	// path is a template: "*" stands for one segment, "id:*" for one with that prefix.
	path string
	// action is the required value of the action parameter, "" without one. Below /rest the parameter is "~action", below /api
	// "action": a vCenter ignores the other one.
	action string
	// parameters are the optional other parameters.
	parameters []string
	// body is set if a JSON body is allowed.
	body bool
	// write is the kind of the write; "": it reads.
	write string
}

// entries lists the requests that read, and the writes that can be reverted.
func entries() []entry {
	const (
		old     = "/rest/com/vmware/cis"
		content = "/rest/com/vmware/content"
		now     = "/api/cis/tagging"
	)
	get, post, remove := http.MethodGet, http.MethodPost, http.MethodDelete
	return []entry{
		// Requests before a login.
		{method: get, path: "/sdk/vimServiceVersions.xml"},
		{method: get, path: "/sdk/vsanServiceVersions.xml"},
		{method: get, path: "/sdk/vimService.wsdl"},
		{method: get, path: "/rest/appliance/system/version"},
		{method: get, path: "/api/appliance/system/version"},

		// Sessions: logins, users and logouts.
		{method: post, path: old + "/session"},
		{method: post, path: old + "/session", action: "get"},
		{method: get, path: old + "/session"},
		{method: remove, path: old + "/session"},
		{method: post, path: "/api/session"},
		{method: get, path: "/api/session"},
		{method: remove, path: "/api/session"},

		{method: get, path: old + "/tagging/category"},
		{method: get, path: old + "/tagging/category/id:*"},
		{method: get, path: old + "/tagging/tag"},
		{method: get, path: old + "/tagging/tag/id:*"},
		{method: post, path: old + "/tagging/tag/id:*", action: "list-tags-for-category", body: true},
		{method: post, path: old + "/tagging/tag-association", action: "list-attached-tags", body: true},
		{method: post, path: old + "/tagging/tag-association", action: "list-attached-tags-on-objects", body: true},
		{method: post, path: old + "/tagging/tag-association", action: "list-attached-objects-on-tags", body: true},
		{method: post, path: old + "/tagging/tag-association/id:*", action: "list-attached-objects", body: true},
		{method: get, path: now + "/category"},
		{method: get, path: now + "/category/*"},
		{method: get, path: now + "/tag"},
		{method: get, path: now + "/tag/*"},
		{method: post, path: now + "/tag", action: "list-tags-for-category", body: true},
		{method: post, path: now + "/tag-association", action: "list-attached-tags", body: true},
		{method: post, path: now + "/tag-association", action: "list-attached-tags-on-objects", body: true},
		{method: post, path: now + "/tag-association", action: "list-attached-objects-on-tags", body: true},
		{method: post, path: now + "/tag-association/*", action: "list-attached-objects", body: true},
		{method: post, path: old + "/tagging/tag-association/id:*", action: "attach", body: true, write: attachTag},
		{method: post, path: old + "/tagging/tag-association/id:*", action: "detach", body: true, write: detachTag},
		{method: post, path: now + "/tag-association/*", action: "attach", body: true, write: attachTag},
		{method: post, path: now + "/tag-association/*", action: "detach", body: true, write: detachTag},

		{method: get, path: content + "/library"},
		{method: get, path: content + "/library/id:*"},
		{method: post, path: content + "/library", action: "find", body: true},
		{method: get, path: content + "/library/subscriptions", parameters: []string{"library"}},
		{method: post, path: content + "/library/subscriptions/id:*", action: "get", body: true},
		{method: get, path: content + "/library/item", parameters: []string{"library_id"}},
		{method: get, path: content + "/library/item/id:*"},
		{method: post, path: content + "/library/item", action: "find", body: true},
		{method: get, path: content + "/library/item/file", parameters: []string{"library_item_id"}},
		{method: post, path: content + "/library/item/file/id:*", action: "get", body: true},
		{method: get, path: content + "/library/item/storage", parameters: []string{"library_item_id"}},
		{method: post, path: content + "/library/item/storage/id:*", action: "get", body: true},
		{method: get, path: "/rest/vcenter/vm-template/library-items/*"},
		{method: get, path: "/api/content/library"},
		{method: get, path: "/api/content/library/*"},

		// Modules of clusters, and resources of a Supervisor.
		{method: get, path: "/rest/vcenter/cluster/modules"},
		{method: get, path: "/rest/vcenter/cluster/modules/*/members"},
		{method: get, path: "/api/vcenter/namespaces/instances"},
		{method: get, path: "/api/vcenter/namespaces/instances/*"},
		{method: get, path: "/api/vcenter/namespace-management/clusters"},
		{method: get, path: "/api/vcenter/namespace-management/supervisors/summaries"},
		{method: get, path: "/api/vcenter/namespace-management/supervisors/*/summary"},
		{method: get, path: "/api/vcenter/namespace-management/supervisors/*/topology"},
		{method: get, path: "/api/vcenter/namespace-management/virtual-machine-classes"},
		{method: get, path: "/api/vcenter/namespace-management/virtual-machine-classes/*"},
		{method: get, path: "/api/vcenter/consumption-domains/zones"},
		{method: get, path: "/api/vcenter/consumption-domains/zones/*"},
	}
}

// matches reports whether a path matches a template.
func matches(template, p string) bool {
	want, have := strings.Split(template, "/"), strings.Split(p, "/")
	if len(want) != len(have) {
		return false
	}
	for i, w := range want {
		prefix, any := strings.CutSuffix(w, "*")
		if rest, ok := strings.CutPrefix(have[i], prefix); !ok || any && rest == "" || !any && rest != "" {
			return false
		}
	}
	return true
}

// inREST returns the intent of a request outside of SOAP.
func inREST(r *http.Request, q query, body []byte) (Intent, error) {
	p := r.URL.Path
	in := Intent{Method: r.Method + " " + p}
	key := "action"
	if strings.HasPrefix(p, "/rest/") {
		key = "~action"
	}
	action, acts := q[key]
	if acts {
		in.Method += "?" + key + "=" + action
	}
	all := slices.DeleteFunc(entries(), func(e entry) bool { return !matches(e.path, p) })
	if len(all) == 0 {
		return in, errors.New("the guard does not know the path")
	}
	at := slices.IndexFunc(all, func(e entry) bool { return e.method == r.Method && e.action == action && acts == (e.action != "") })
	if at < 0 {
		return in, errors.New("the guard does not know this method or action of the path")
	}
	e := all[at]
	for k := range q {
		if (k != key || !acts) && !slices.Contains(e.parameters, k) {
			return in, fmt.Errorf("the guard does not know the parameter %q of the path", k)
		}
	}
	if err := contentType(r, "application/json", len(body) > 0); err != nil {
		return in, err
	}
	if len(body) > 0 {
		if !e.body {
			return in, errors.New("it has a body, where none is due")
		}
		said, err := readJSON(body)
		if err != nil {
			return in, err
		}
		if in.body, err = json.Marshal(said); err != nil {
			return in, err
		}
		if e.write != "" {
			in.VM = taggedVM(said)
		}
	}
	if r.Method == http.MethodPost {
		in.contentType = "application/json"
	}
	if in.Write = e.write != ""; in.Write {
		segment := p[strings.LastIndexByte(p, '/')+1:]
		if in.VM.Value != "" {
			in.Do.Kind, in.Do.With = e.write, map[string]string{tagID: strings.TrimPrefix(segment, "id:")}
		}
	}
	return in, nil
}

// readJSON parses one object. It refuses duplicate keys: a vCenter may use either value.
func readJSON(body []byte) (map[string]any, error) {
	d := json.NewDecoder(bytes.NewReader(body))
	d.UseNumber()
	value, err := jsonValue(d, 0)
	if err == nil {
		if _, more := d.Token(); !errors.Is(more, io.EOF) {
			err = errors.New("there is more behind it")
		}
	}
	if err != nil {
		return nil, fmt.Errorf("the body is no object of JSON: %w", err)
	}
	object, ok := value.(map[string]any)
	if !ok {
		return nil, errors.New("the body is no object of JSON")
	}
	return object, nil
}

func jsonValue(d *json.Decoder, depth int) (any, error) {
	if depth > maxDepth {
		return nil, fmt.Errorf("it is nested more than %d deep", maxDepth)
	}
	token, err := d.Token()
	if err != nil {
		return nil, err
	}
	switch token {
	case json.Delim('{'):
		object, seen := map[string]any{}, map[string]bool{}
		for d.More() {
			key, err := d.Token()
			if err != nil {
				return nil, err
			}
			k, _ := key.(string) // the decoder accepts only strings
			if seen[strings.ToLower(k)] {
				return nil, fmt.Errorf("it has %q twice", k)
			}
			seen[strings.ToLower(k)] = true
			if object[k], err = jsonValue(d, depth+1); err != nil {
				return nil, err
			}
		}
		_, err := d.Token()
		return object, err
	case json.Delim('['):
		list := []any{}
		for d.More() {
			value, err := jsonValue(d, depth+1)
			if err != nil {
				return nil, err
			}
			list = append(list, value)
		}
		_, err := d.Token()
		return list, err
	}
	return token, nil
}

// taggedVM returns the VM of a tag's attachment or detachment; zero if the body has other contents.
func taggedVM(said map[string]any) types.ManagedObjectReference {
	object, ok := said["object_id"].(map[string]any)
	if !ok || len(said) != 1 || len(object) != 2 || object["type"] != "VirtualMachine" {
		return types.ManagedObjectReference{}
	}
	id, _ := object["id"].(string) // an empty ID refers to nothing
	return types.ManagedObjectReference{Type: "VirtualMachine", Value: id}
}
