// Package tree is the desired state of an NSX Manager: the policy objects below /infra, with the rules of its Policy API for
// creating, changing, deleting, listing and searching them, and the state in which NSX has realized them.
//
//	t := tree.New(tree.Options{Delay: 100 * time.Millisecond})
//	pool, err := t.Put("/infra/lb-pools/web", tree.Object{"display_name": "web"}, "admin")
//	all, err := t.List("/infra/lb-pools", tree.Page{})
//
// The kinds are those that upstream's cloud provider reads and writes, and what these refer to: load balancer services, virtual
// servers, pools, monitors and profiles, IP pools with subnets and allocations, gateways with static routes and locale services,
// segments, edge clusters. It is not a network: nothing is balanced or routed here.
//
// Realization is a function of time: it needs no goroutine. An object is realized when Delay has passed since its last change.
//
// Floor 2, inside pkg/sim.
package tree
