package tree

import (
	"bytes"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
)

// saved returns a tree with what another one has.
func saved(t *testing.T, of *Tree) *Tree {
	t.Helper()
	var file bytes.Buffer
	if err := of.Save(&file); err != nil {
		t.Fatal(err)
	}
	tree := New(of.opts)
	if err := tree.Load(&file); err != nil {
		t.Fatal(err)
	}
	return tree
}

// TestSave: a tree that was saved and loaded has the same objects, and continues as it would have: with addresses, those that are not
// free yet, allocations that wait for one, the paths of deleted objects, and revisions.
func TestSave(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		tree := New(Options{Delay: time.Second})
		put(t, tree, "/infra/ip-pools/p", Object{})
		put(t, tree, "/infra/ip-pools/p/ip-subnets/s", Object{
			"cidr": "10.0.0.0/24", "allocation_ranges": []any{Object{"start": "10.0.0.5", "end": "10.0.0.6"}},
		})
		path := func(id string) string { return "/infra/ip-pools/p/ip-allocations/" + id }
		for _, id := range []string{"a", "b", "z", "c"} { // z waits longer than c
			if err := tree.Patch(path(id), Object{"tags": []any{Object{"scope": "owner", "tag": id}}}, "ccm"); err != nil {
				t.Fatal(err)
			}
		}
		put(t, tree, "/infra/tier-1s/t", Object{})
		put(t, tree, "/infra/tier-1s/t/static-routes/r", Object{"network": "10.1.0.0/24", "next_hops": []any{Object{"ip_address": "10.9.0.1"}}})
		time.Sleep(time.Second)
		if err := tree.Delete(path("a"), "ccm", false); err != nil {
			t.Fatal(err)
		}
		if err := tree.Delete("/infra/tier-1s/t/static-routes/r", "ccm", false); err != nil {
			t.Fatal(err)
		}
		tree = saved(t, tree)
		if diff := cmp.Diff(tree.All(), saved(t, tree).All()); diff != "" {
			t.Errorf("saved again: %s", diff)
		}
		if _, err := tree.Put("/infra/lb-monitor-profiles/default-tcp-lb-monitor", Object{"resource_type": "LBTcpMonitorProfile"}, "admin"); err == nil {
			t.Error("an object of NSX can be replaced")
		}
		if err := tree.Patch("/infra/tier-1s/t/static-routes/r", Object{"network": "10.1.0.0/24", "next_hops": []any{Object{"ip_address": "10.9.0.1"}}}, "ccm"); err == nil || !strings.Contains(err.Error(), "500045") && err.(*Error).Code != 500045 {
			t.Errorf("the path of a deleted route is not blocked: %v", err)
		}
		if _, b, _ := state(t, tree, path("b")); b != "10.0.0.6" {
			t.Errorf("b has the address %q", b)
		}
		time.Sleep(119 * time.Second)
		if s, _, _ := state(t, tree, path("z")); s != Failed {
			t.Errorf("within the delay of release the state is %s", s)
		}
		time.Sleep(time.Second)
		if s, z, _ := state(t, tree, path("z")); s != Realized || z != "10.0.0.5" {
			t.Errorf("after the delay of release, the one that waited longest has %s, %q", s, z)
		}
		pool := Object{"display_name": "renamed"}
		if _, err := tree.Put("/infra/ip-pools/p", pool, "admin"); err == nil {
			t.Error("a PUT without the revision succeeds")
		}
		pool["_revision"] = int64(0)
		if got := put(t, tree, "/infra/ip-pools/p", pool); got["_revision"] != int64(1) {
			t.Errorf("the next revision is %v", got["_revision"])
		}
	})
}

// TestLoadRefuses: what is no saved tree changes nothing.
func TestLoadRefuses(t *testing.T) {
	tree := New(Options{})
	put(t, tree, "/infra/ip-pools/p", Object{})
	before := tree.All()
	for _, text := range []string{"", "{", `{"nodes": [{"path": "/infra/nothing/x"}]}`, `{"nodes": [{"path": "/infra/ip-pools/q", "object": {"a": 1.5}}]}`} {
		if err := tree.Load(strings.NewReader(text)); err == nil {
			t.Errorf("%s is loaded", text)
		}
	}
	if diff := cmp.Diff(before, tree.All()); diff != "" {
		t.Error(diff)
	}
}
