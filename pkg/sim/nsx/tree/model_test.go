package tree

import (
	"errors"
	"fmt"
	"maps"
	"math/rand/v2"
	"net/http"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// modelObject is what the model keeps of an object.
type modelObject struct {
	revision int64
	fields   map[string]any // of those that the test writes
}

// model is a map, and the rules of the Policy API written down once more, as plainly as possible.
type model map[string]*modelObject

// refers returns the paths that an object names.
func (o *modelObject) refers() []string {
	var all []string
	for _, v := range o.fields {
		for _, ref := range texts(v) {
			if strings.HasPrefix(ref, "/infra/") {
				all = append(all, ref)
			}
		}
	}
	return all
}

func (m model) status(path string) int {
	if m[path] == nil {
		return http.StatusNotFound
	}
	return http.StatusOK
}

func (m model) missesRef(fields map[string]any) bool {
	return slices.ContainsFunc((&modelObject{fields: fields}).refers(), func(ref string) bool {
		return m[ref] == nil && !strings.Contains(ref, "default-tcp")
	})
}

func (m model) put(path string, fields map[string]any, revision any) int {
	old := m[path]
	if old != nil && revision != old.revision {
		return http.StatusPreconditionFailed
	}
	if m.missesRef(fields) {
		return http.StatusBadRequest
	}
	next := &modelObject{fields: fields}
	if old != nil {
		next.revision = old.revision + 1
	}
	m[path] = next
	return http.StatusOK
}

func (m model) patch(path string, fields map[string]any) int {
	old := m[path]
	if old == nil {
		return m.put(path, fields, nil)
	}
	merged := maps.Clone(old.fields)
	maps.Copy(merged, fields)
	return m.put(path, merged, old.revision)
}

func (m model) delete(path string, force bool) int {
	if m[path] == nil {
		return http.StatusNotFound
	}
	for other, o := range m {
		if strings.HasPrefix(other, path+"/") || !force && other != path && slices.Contains(o.refers(), path) {
			return http.StatusBadRequest
		}
	}
	delete(m, path)
	return http.StatusOK
}

func statusOf(err error) int {
	if e := (*Error)(nil); errors.As(err, &e) {
		return e.Status
	}
	if err != nil {
		return -1
	}
	return http.StatusOK
}

// TestModel runs random operations on a tree and on a plain map of objects. Answers, objects, lists and searches must be the same.
func TestModel(t *testing.T) {
	for seed := range uint64(10) {
		t.Run(fmt.Sprint(seed), func(t *testing.T) {
			random := rand.New(rand.NewPCG(seed, 1))
			tree, m := New(Options{}), model{}
			pick := func(words ...string) string { return words[random.IntN(len(words))] }
			id := func() string { return pick("a", "b", "c") }
			seen := map[int]int{}
			for step := range 800 {
				collection := pick("lb-services", "lb-pools", "lb-virtual-servers", "lb-monitor-profiles", "tier-1s", "tier-1s/a/static-routes")
				path := "/infra/" + collection + "/" + id()
				fields := map[string]any{"description": pick("one", "two", "three")}
				switch collection {
				case "lb-services":
					fields["connectivity_path"] = "/infra/tier-1s/" + id()
				case "lb-pools":
					fields["active_monitor_paths"] = []any{"/infra/lb-monitor-profiles/" + id()}
				case "lb-virtual-servers":
					fields["pool_path"], fields["lb_service_path"] = "/infra/lb-pools/"+id(), "/infra/lb-services/"+id()
					fields["application_profile_path"] = "/infra/lb-app-profiles/default-tcp-lb-app-profile"
					fields["ip_address"], fields["ports"] = "10.0.0.1", []any{pick("80", "443")}
				case "lb-monitor-profiles":
					fields["resource_type"] = "LBTcpMonitorProfile"
				case "tier-1s/a/static-routes":
					fields["network"], fields["next_hops"] = "10.1.0.0/24", []any{Object{"ip_address": "10.0.0.9", "admin_distance": int64(1)}}
				}
				// Half of the references are left out, so that what is named can be deleted at times.
				for _, name := range []string{"connectivity_path", "active_monitor_paths", "pool_path", "lb_service_path"} {
					if random.IntN(2) == 0 {
						delete(fields, name)
					}
				}
				var got, want int
				var what string
				switch what = pick("put", "put", "patch", "delete", "force", "get"); what {
				case "put":
					var revision any
					if old := m[path]; old != nil && random.IntN(4) > 0 {
						revision = old.revision
					} else if random.IntN(2) == 0 {
						revision = int64(random.IntN(3))
					}
					body := Object(maps.Clone(fields))
					if revision != nil {
						body["_revision"] = revision
					}
					_, err := tree.Put(path, body, "admin")
					got, want = statusOf(err), m.parented(path, func() int { return m.put(path, fields, revision) })
				case "patch":
					got = statusOf(tree.Patch(path, Object(maps.Clone(fields)), "admin"))
					want = m.parented(path, func() int { return m.patch(path, fields) })
				case "delete", "force":
					got, want = statusOf(tree.Delete(path, "admin", what == "force")), m.delete(path, what == "force")
				case "get":
					_, err := tree.Get(path)
					got, want = statusOf(err), m.status(path)
				}
				seen[got]++
				if got != want {
					t.Fatalf("step %d: %s %s %v: status %d, want %d", step, what, path, fields, got, want)
				}
				compare(t, step, tree, m)
			}
			for _, status := range []int{200, 400, 404, 412} {
				if seen[status] < 10 {
					t.Errorf("the status %d was seen %d times: the test does not try it", status, seen[status])
				}
			}
		})
	}
}

// parented is for objects below another: that one must exist.
func (m model) parented(path string, do func() int) int {
	if parent, _ := split(path); parent != root && m[parent] == nil {
		return http.StatusBadRequest
	}
	return do()
}

// compare fails if the tree holds other objects than the model.
func compare(t *testing.T, step int, tree *Tree, m model) {
	t.Helper()
	got := map[string]*modelObject{}
	for _, o := range tree.All() {
		one := &modelObject{revision: o["_revision"].(int64), fields: map[string]any{}}
		if want := m[o.text("path")]; want != nil {
			for name := range want.fields {
				one.fields[name] = o[name]
			}
			for name := range o { // a field that was written before and not now
				if _, has := want.fields[name]; !has && (strings.HasSuffix(name, "_path") && name != "parent_path" && name != "relative_path" || strings.HasSuffix(name, "_paths")) {
					one.fields[name] = o[name]
				}
			}
		}
		got[o.text("path")] = one
	}
	if diff := cmp.Diff(map[string]*modelObject(m), got, cmp.AllowUnexported(modelObject{})); diff != "" {
		t.Fatalf("step %d: the tree differs (-model +tree):\n%s", step, diff)
	}
	if step%50 > 0 {
		return
	}
	listed, err := tree.List("/infra/lb-pools", Page{SortBy: "id"})
	if err != nil {
		t.Fatal(err)
	}
	found, err := tree.Search(`resource_type:LBPool AND (description:t* OR description:"one")`, Page{SortBy: "id"})
	if err != nil {
		t.Fatal(err)
	}
	var want []string
	for path := range m {
		if strings.HasPrefix(path, "/infra/lb-pools/") {
			want = append(want, path)
		}
	}
	slices.Sort(want)
	for what, objects := range map[string][]Object{"list": listed.Objects, "search": found.Objects} {
		var got []string
		for _, o := range objects {
			got = append(got, o.text("path"))
		}
		if !slices.Equal(got, want) {
			t.Fatalf("step %d: the %s has %v, want %v", step, what, got, want)
		}
	}
}
