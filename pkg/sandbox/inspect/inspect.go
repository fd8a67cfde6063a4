// Package inspect reads the objects of a sandbox again from its vCenters and its API server, in bounded time: to explain
// why one is as it is (package explain reasons over what was read), and to show all there is about it.
//
// Floor 3.
package inspect

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"sync"

	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/kubernetes/scheme"
	"sigs.k8s.io/yaml"

	"github.com/vsphere-sandbox/vsphere-sandbox/internal/nearest"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/sandbox/api"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/sandbox/control"
)

// Register adds the handlers of the control API.
func (i *Inspector) Register(mux *http.ServeMux) {
	mux.Handle("POST /v1/explain", control.Request(i.Explain))
	mux.Handle("POST /v1/inspect", control.Request(i.Inspect))
}

// Inspect reads all there is about one object, on both planes, in bounded time.
func (i *Inspector) Inspect(ctx context.Context, r api.Subject) (api.Inspection, error) {
	if i.World() == nil {
		return api.Inspection{}, api.NotBuilt()
	}
	look, ok := map[string]func(context.Context, api.Subject) ([]part, error){
		"node": i.inspectNode, "vm": i.inspectVM, "volume": i.inspectVolume,
		"host": i.inspectHost, "vcenter": i.inspectVCenter, "component": i.inspectComponent,
	}[r.Kind]
	if !ok {
		return api.Inspection{}, &api.Error{
			Code: "invalid", Message: fmt.Sprintf("kind %q: there is nothing of that kind to look into", r.Kind), Try: "node, vm, volume, host, vcenter or component",
		}
	}
	if err := nameless(r); err != nil {
		return api.Inspection{}, err
	}
	parts, err := look(ctx, r)
	if err != nil {
		return api.Inspection{}, err
	}
	return api.Inspection{Parts: read(ctx, parts)}, nil
}

// part is an object that has not been read yet. Read returns nil for an object that does not exist.
type part struct {
	title string
	read  func(context.Context) (any, error)
}

// read reads all parts at once.
func read(ctx context.Context, parts []part) []api.Part {
	list := make([]api.Part, len(parts))
	var asks []func(context.Context)
	var mu sync.Mutex
	for i, p := range parts {
		list[i].Title = p.title
		asks = append(asks, func(ctx context.Context) {
			text, err := written(p.read(ctx))
			mu.Lock()
			defer mu.Unlock()
			if list[i].YAML = text; err != nil {
				list[i].Error = err.Error()
			}
		})
	}
	together(ctx, asks...)
	return list
}

// written returns an object as YAML; one of Kubernetes with its kind and without managed fields.
func written(object any, err error) (string, error) {
	if err != nil {
		return "", err
	}
	if o, ok := object.(runtime.Object); ok {
		o = o.DeepCopyObject()
		if kinds, _, err := scheme.Scheme.ObjectKinds(o); err == nil && len(kinds) > 0 {
			o.GetObjectKind().SetGroupVersionKind(kinds[0])
		}
		if m, err := meta.Accessor(o); err == nil {
			m.SetManagedFields(nil)
		}
		object = o
	}
	text, err := yaml.Marshal(object)
	return string(text), err
}

// tree converts a struct to a tree for YAML, without unset fields.
func tree(v any) any {
	text, err := json.Marshal(v)
	if err != nil {
		return err.Error()
	}
	var out any
	if err := json.Unmarshal(text, &out); err != nil {
		return err.Error()
	}
	return bare(out)
}

// bare removes empty values.
func bare(v any) any {
	switch v := v.(type) {
	case map[string]any:
		for key, value := range v {
			if value = bare(value); value == nil {
				delete(v, key)
			} else {
				v[key] = value
			}
		}
		if len(v) == 0 {
			return nil
		}
	case []any:
		if len(v) == 0 {
			return nil
		}
		for i := range v {
			v[i] = bare(v[i])
		}
	case string:
		if v == "" {
			return nil
		}
	}
	return v
}

// notThere is the error for an object that does not exist.
func notThere(what string) error { return fmt.Errorf("there is no %s", what) }

// unknownName is the error for a name that no object has.
func unknownName(kind, name string, names []string) error {
	message := fmt.Sprintf("%s %q not found", kind, name)
	if near := nearest.Of(name, names); near != "" {
		message += fmt.Sprintf("; did you mean %q?", near)
	}
	try := "vsphere-sandbox get " + kind + "s"
	if kind == "component" {
		try = "vsphere-sandbox status"
	}
	return &api.Error{Code: "not-found", Message: message, Try: try}
}

// secretWords are in the keys of passwords and keys, whose values must not be shown.
func secretWords() []string {
	return []string{"password", "passwd", "passphrase", "secret", "token", "credential", "private", "vnc.key", "filekey", "encryption.", "machine.id"}
}

// configuringWords are in the keys of a guest's boot configuration, which may contain secrets: cloud-init's
// userdata, metadata and vendordata, Ignition's and Talos' config, the properties of an OVF.
func configuringWords() []string {
	return []string{"data", "config", "ignition", "cloud-init", "script", "ovfenv"}
}

// secretive reports whether the value of an advanced setting of a VM must not be shown.
func secretive(key string) bool {
	key = strings.ToLower(key)
	has := func(word string) bool { return strings.Contains(key, word) }
	if slices.ContainsFunc(secretWords(), has) {
		return true
	}
	if strings.HasSuffix(key, ".encoding") { // says how it is written, and nothing of it
		return false
	}
	return strings.HasPrefix(key, "guestinfo.") && slices.ContainsFunc(configuringWords(), has)
}
