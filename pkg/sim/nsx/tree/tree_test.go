package tree

import (
	"fmt"
	"net/http"
	"net/netip"
	"strings"
	"testing"
	"testing/synctest"
	"time"
)

func put(t *testing.T, tree *Tree, path string, o Object) Object {
	t.Helper()
	stored, err := tree.Put(path, o, "admin")
	if err != nil {
		t.Fatalf("PUT %s: %v", path, err)
	}
	return stored
}

func state(t *testing.T, tree *Tree, path string) (state, address, problem string) {
	t.Helper()
	e, err := tree.Realize(path)
	if err != nil {
		t.Fatal(err)
	}
	for _, v := range e["extended_attributes"].([]any) {
		address = v.(Object)["values"].([]any)[0].(string)
	}
	return e.text("state"), address, e.text("runtime_error")
}

// TestAllocation: an address is allocated when the allocation is realized, is unique, and is free again after the pool's delay.
// One that finds no free address gets the next one that becomes free.
func TestAllocation(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		tree := New(Options{Delay: time.Second})
		put(t, tree, "/infra/ip-pools/p", Object{})
		put(t, tree, "/infra/ip-pools/p/ip-subnets/s", Object{
			"cidr": "10.0.0.0/24", "allocation_ranges": []any{Object{"start": "10.0.0.5", "end": "10.0.0.6"}},
		})
		path := func(id string) string { return "/infra/ip-pools/p/ip-allocations/" + id }
		for _, id := range []string{"a", "b", "c"} {
			if err := tree.Patch(path(id), Object{}, "admin"); err != nil {
				t.Fatal(err)
			}
		}
		if s, _, _ := state(t, tree, path("a")); s != Unrealized {
			t.Errorf("at once the state is %s", s)
		}
		time.Sleep(time.Second)
		_, a, _ := state(t, tree, path("a"))
		_, b, _ := state(t, tree, path("b"))
		if a != "10.0.0.5" || b != "10.0.0.6" {
			t.Errorf("the addresses are %q and %q", a, b)
		}
		if s, _, problem := state(t, tree, path("c")); s != Failed || !strings.Contains(problem, "no free address") {
			t.Errorf("without a free address the state is %s: %s", s, problem)
		}
		if err := tree.Delete(path("a"), "admin", false); err != nil {
			t.Fatal(err)
		}
		time.Sleep(119 * time.Second)
		if s, _, _ := state(t, tree, path("c")); s != Failed {
			t.Errorf("within the delay of release the state is %s", s)
		}
		time.Sleep(time.Second)
		if s, c, _ := state(t, tree, path("c")); s != Realized || c != a {
			t.Errorf("after the delay of release: %s, %q", s, c)
		}
		pool, _ := tree.Get("/infra/ip-pools/p")
		if got := fmt.Sprint(pool["pool_usage"]); got != "map[allocated_ip_allocations:2 available_ips:0 requested_ip_allocations:2 total_ips:2]" {
			t.Errorf("pool_usage is %s", got)
		}
		if err := tree.Patch(path("d"), Object{"allocation_ip": "10.0.0.9"}, "admin"); err != nil {
			t.Fatal(err)
		}
		time.Sleep(time.Second)
		if s, _, problem := state(t, tree, path("d")); s != Failed || !strings.Contains(problem, "in no range") {
			t.Errorf("an address outside of the pool: %s: %s", s, problem)
		}
	})
}

// TestPurge: the path of a deleted object is blocked until it is purged.
func TestPurge(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		tree := New(Options{Delay: time.Second})
		put(t, tree, "/infra/lb-pools/p", Object{})
		if err := tree.Delete("/infra/lb-pools/p", "admin", false); err != nil {
			t.Fatal(err)
		}
		if _, err := tree.Get("/infra/lb-pools/p"); statusOf(err) != http.StatusNotFound {
			t.Errorf("GET: %v", err)
		}
		if r, _ := tree.List("/infra/lb-pools", Page{Deleted: true}); len(r.Objects) != 1 || r.Objects[0]["marked_for_delete"] != true {
			t.Errorf("the list with deleted objects has %v", r.Objects)
		}
		if _, err := tree.Put("/infra/lb-pools/p", Object{}, "admin"); err == nil || !strings.Contains(err.Error(), "500045") {
			t.Errorf("PUT: %v", err)
		}
		time.Sleep(time.Second)
		put(t, tree, "/infra/lb-pools/p", Object{})
	})
}

// TestObstacles: what NSX accepts and cannot realize has the state ERROR and a reason.
func TestObstacles(t *testing.T) {
	tree := New(Options{})
	put(t, tree, "/infra/tier-1s/t", Object{})
	put(t, tree, "/infra/lb-services/one", Object{"connectivity_path": "/infra/tier-1s/t"})
	if s, _, why := state(t, tree, "/infra/lb-services/one"); s != Failed || !strings.Contains(why, "no edge cluster") {
		t.Errorf("a gateway without an edge cluster: %s: %s", s, why)
	}
	if err := tree.System(EdgeClusters+"/e", Object{}); err != nil {
		t.Fatal(err)
	}
	put(t, tree, "/infra/tier-1s/t/locale-services/default", Object{"edge_cluster_path": EdgeClusters + "/e"})
	if s, _, why := state(t, tree, "/infra/lb-services/one"); s != Realized {
		t.Errorf("a gateway with an edge cluster: %s: %s", s, why)
	}
	put(t, tree, "/infra/lb-services/two", Object{"connectivity_path": "/infra/tier-1s/t"})
	if s, _, why := state(t, tree, "/infra/lb-services/two"); s != Failed || !strings.Contains(why, "another load balancer service") {
		t.Errorf("a second service of a gateway: %s: %s", s, why)
	}
	server := func(id, port, profile string) string {
		put(t, tree, "/infra/lb-virtual-servers/"+id, Object{
			"ip_address": "10.0.0.5", "ports": []any{port}, "lb_service_path": "/infra/lb-services/one", "application_profile_path": "/infra/lb-app-profiles/" + profile,
		})
		s, _, _ := state(t, tree, "/infra/lb-virtual-servers/"+id)
		return s
	}
	for _, tc := range []struct{ id, port, profile, want string }{
		{"a", "80", "default-tcp-lb-app-profile", Realized},
		{"b", "79-81", "default-tcp-lb-app-profile", Failed},
		{"c", "80", "default-udp-lb-app-profile", Realized},
		{"d", "81", "default-tcp-lb-app-profile", Failed}, // overlaps b, which is older
		{"e", "443", "default-tcp-lb-app-profile", Realized},
	} {
		if got := server(tc.id, tc.port, tc.profile); got != tc.want {
			t.Errorf("virtual server %s at port %s with %s: %s, want %s", tc.id, tc.port, tc.profile, got, tc.want)
		}
	}
}

// TestRefused: NSX refuses malformed objects, and says which field is wrong.
func TestRefused(t *testing.T) {
	tree := New(Options{})
	var many []any
	for i := range 31 {
		many = append(many, Object{"scope": fmt.Sprint(i), "tag": "x"})
	}
	for _, tc := range []struct {
		path string
		o    Object
		want string
	}{
		{"/infra/lb-services/x", Object{"size": "HUGE"}, "size must be one of SMALL, MEDIUM, LARGE, XLARGE, DLB"},
		{"/infra/lb-services/x", Object{"tint": "red"}, "tint is no field"},
		{"/infra/lb-services/x", Object{"connectivity_path": "/infra/tier-1s/none"}, "The path=[/infra/tier-1s/none] is invalid (code 500012)"},
		{"/infra/lb-services/x", Object{"connectivity_path": "/infra/lb-pools/none"}, "is no path of tier-1s"},
		{"/infra/lb-services/x", Object{"display_name": strings.Repeat("é", 256)}, "display_name has more than 255 characters"},
		{"/infra/lb-services/x", Object{"tags": []any{Object{"scope": strings.Repeat("s", 129)}}}, "scope has more than 128 characters"},
		{"/infra/lb-services/x", Object{"tags": many}, "tags has more than 30"},
		{"/infra/lb-services/x", Object{"id": "y"}, `id is "y" and the path has "x"`},
		{"/infra/lb-services/x", Object{"resource_type": "LBPool"}, "resource_type must be one of LBService"},
		{"/infra/lb-monitor-profiles/x", Object{}, "resource_type must be one of LBTcpMonitorProfile"},
		{"/infra/lb-monitor-profiles/x", Object{"resource_type": "LBTcpMonitorProfile", "monitor_port": int64(65536)}, "monitor_port must be between 0 and 65535"},
		{"/infra/lb-virtual-servers/x", Object{}, "application_profile_path is required; ip_address is required; ports is required"},
		{"/infra/lb-virtual-servers/x", Object{"ports": []any{"0"}}, "ports [0] must be a port"},
		{"/infra/lb-pools/x", Object{"members": []any{Object{"ip_address": "here"}}}, "members [0] ip_address must be an IP address"},
		{"/infra/ip-pools/none/ip-allocations/x", Object{}, "The path=[/infra/ip-pools/none] is invalid"},
		{"/infra/lb-app-profiles/default-tcp-lb-app-profile", Object{"resource_type": "LBFastTcpProfile"}, "owned by the system"},
		{"/infra/sites/default/enforcement-points/default/edge-clusters/x", Object{}, "owned by the system"},
		{"/infra/nothing/x", Object{}, "is invalid"},
	} {
		if _, err := tree.Put(tc.path, tc.o, "admin"); err == nil || !strings.Contains(err.Error(), tc.want) {
			t.Errorf("PUT %s %v: %v, want %q", tc.path, tc.o, err, tc.want)
		}
	}
	if err := tree.Delete("/infra/lb-monitor-profiles/default-tcp-lb-monitor", "admin", true); statusOf(err) != http.StatusForbidden {
		t.Errorf("DELETE of an object of the system: %v", err)
	}
}

// TestPages: a cursor leads through all objects once, also if some are deleted between two pages.
func TestPages(t *testing.T) {
	tree := New(Options{})
	for i := range 25 {
		put(t, tree, fmt.Sprintf("/infra/lb-pools/%02d", i), Object{"display_name": "same"})
	}
	for _, descending := range []bool{false, true} {
		seen, page := map[string]bool{}, Page{Size: 10, Descending: descending}
		for {
			r, err := tree.List("/infra/lb-pools", page)
			if err != nil {
				t.Fatal(err)
			}
			for _, o := range r.Objects {
				if seen[o.text("id")] {
					t.Errorf("%s is on two pages", o.text("id"))
				}
				seen[o.text("id")] = true
			}
			if last := r.Objects[len(r.Objects)-1]; !descending && len(seen) == 10 {
				if err := tree.Delete(last.text("path"), "admin", false); err != nil {
					t.Fatal(err)
				}
			}
			if page.Cursor = r.Cursor; page.Cursor == "" {
				break
			}
		}
		if want := map[bool]int{false: 25, true: 24}[descending]; len(seen) != want {
			t.Errorf("descending %v: %d objects, want %d", descending, len(seen), want)
		}
	}
	if _, err := tree.List("/infra/lb-pools", Page{Cursor: "%"}); statusOf(err) != http.StatusBadRequest {
		t.Errorf("a bad cursor: %v", err)
	}
	r, err := tree.List("/infra/lb-pools", Page{Size: 1, Fields: []string{"display_name"}})
	if err != nil || len(r.Objects[0]) != 4 {
		t.Errorf("included_fields: %v, %v", r.Objects, err)
	}
}

// TestSearch: the queries of upstream's routes, and the rest of the syntax.
func TestSearch(t *testing.T) {
	tree := New(Options{})
	put(t, tree, "/infra/tier-1s/t", Object{})
	for i, cluster := range []string{"one", "one", "two*", "OR"} {
		put(t, tree, fmt.Sprintf("/infra/tier-1s/t/static-routes/%d", i), Object{
			"network": netip.PrefixFrom(netip.AddrFrom4([4]byte{10, byte(i)}), 24).String(), "next_hops": []any{Object{"ip_address": "10.9.0.1"}},
			"tags": []any{Object{"scope": "vsphere.k8s.io/cluster-name", "tag": cluster}, Object{"scope": "vsphere.k8s.io/node-name", "tag": "n"}},
		})
	}
	for query, want := range map[string]string{
		`resource_type:StaticRoutes AND tags.scope:vsphere.k8s.io\/cluster-name AND tags.tag:one`: "01",
		`resource_type:StaticRoutes AND tags.scope:vsphere.k8s.io\/node-name AND tags.tag:one`:    "01", // as NSX: not of one tag
		`tags.tag:two\*`:                "2",
		`tags.tag:"two*"`:               "2",
		`tags.tag:t*`:                   "2",
		`tags.tag:"OR"`:                 "3",
		`tags.tag:\OR OR tags.tag:two?`: "23",
		`resource_type:StaticRoutes AND NOT (tags.tag:one OR tags.tag:two\*)`: "3",
		`next_hops.ip_address:10.9.0.1 AND network:10.1.0.0\/24`:              "1",
		`path:/infra/tier-1s/t/static-routes/*`:                               "0123",
		`resource_type:LBPool`:                                                "",
	} {
		r, err := tree.Search(query, Page{SortBy: "id"})
		if err != nil {
			t.Errorf("%s: %v", query, err)
		}
		got := ""
		for _, o := range r.Objects {
			got += o.text("id")
		}
		if got != want {
			t.Errorf("%s: %q, want %q", query, got, want)
		}
	}
	for _, query := range []string{"", "x", "x:", "(x:y", "x:y)", "x:y z:a", "AND", "NOT", strings.Repeat("(", 1000) + "x:y"} {
		if _, err := tree.Search(query, Page{}); statusOf(err) != http.StatusBadRequest {
			t.Errorf("%.20q: %v", query, err)
		}
	}
}
