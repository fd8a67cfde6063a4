package apis

import (
	"encoding/json"
	"net/http"
	"reflect"
	"runtime"
	"slices"
	"strings"

	"github.com/vmware/govmomi/simulator"
	"github.com/vmware/govmomi/vim25/mo"
	"github.com/vmware/govmomi/vim25/soap"
)

// About lists the types of objects of registries, and the methods that they implement. vcsim reads its registries without their
// locks. Types that are not vSphere's, which start with "Sandbox", are left out.
func About(registries ...*simulator.Registry) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		var about struct {
			Methods []string `json:"methods"`
			Types   []string `json:"types"`
		}
		types, names := map[string]bool{}, map[string]bool{}
		for _, r := range registries {
			for _, obj := range r.AllReference("") {
				kind := obj.Reference().Type
				own := strings.HasPrefix(kind, "Sandbox")
				if types[kind] && !own {
					continue
				}
				types[kind] = !own
				for _, method := range methodsOf(reflect.TypeOf(obj)) {
					names[method] = true
				}
			}
		}
		for kind, listed := range types {
			if listed {
				about.Types = append(about.Types, kind)
			}
		}
		for name := range names {
			about.Methods = append(about.Methods, name)
		}
		slices.Sort(about.Types)
		slices.Sort(about.Methods)
		writeJSON(w, about)
	})
}

// methodsOf returns the API's methods that a type implements: those that answer with soap.HasFault.
func methodsOf(t reflect.Type) (names []string) {
	answer := reflect.TypeFor[soap.HasFault]()
	for m := range t.Methods() {
		if in := m.Type.NumIn(); in >= 2 && in <= 3 && m.Type.NumOut() == 1 && m.Type.Out(0) == answer {
			name := m.Name
			if base, ok := strings.CutSuffix(name, "Task"); ok {
				name = base + "_Task"
			}
			names = append(names, name)
		}
	}
	return names
}

// Vars reports counters of a vCenter, as vcsim does at /debug/vars: the memory of the process, and numbers of objects.
func Vars(r *simulator.Registry) http.Handler {
	counters := map[string]string{
		"Datacenter": "datacenter", "DistributedVirtualPortgroup": "portgroup", "ClusterComputeResource": "cluster",
		"Datastore": "datastore", "HostSystem": "host", "VirtualMachine": "machine", "ResourcePool": "pool", "VirtualApp": "app",
		"Folder": "folder", "StoragePod": "pod", "OpaqueNetwork": "opaqueNetwork",
	}
	return http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		model := map[string]int{}
		for _, key := range counters {
			model[key] = 0
		}
		for _, obj := range r.AllReference("") {
			if e, ok := obj.(mo.Entity); ok && counters[e.Reference().Type] != "" {
				model[counters[e.Reference().Type]]++
			}
		}
		var memory runtime.MemStats
		runtime.ReadMemStats(&memory)
		writeJSON(w, map[string]any{"memstats": memory, "vcsim": map[string]any{"registry": r, "model": model}})
	})
}

func writeJSON(w http.ResponseWriter, v any) {
	w.Header().Set("Content-Type", "application/json; charset=utf-8")
	enc := json.NewEncoder(w)
	enc.SetIndent("", "  ")
	_ = enc.Encode(v) // the client may be gone
}
