package wait

import (
	"fmt"
	"slices"
	"strings"

	"github.com/vsphere-sandbox/vsphere-sandbox/internal/cli/tables"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/sandbox/api"
)

func findNode(w world, name string) (api.Node, bool) {
	i := slices.IndexFunc(w.nodes, func(n api.Node) bool { return n.Name == name || n.VM == name })
	if i < 0 {
		return api.Node{}, false
	}
	return w.nodes[i], true
}

func noNode(w world, name string) (bool, string, error) {
	var names []string
	for _, n := range w.nodes {
		names = append(names, n.Name, n.VM)
	}
	return absent(w, "node", name, names)
}

func nodeIs(name, want string) func(world) (bool, string, error) {
	return func(w world) (bool, string, error) {
		n, found := findNode(w, name)
		why := fmt.Sprintf("node %s is %s", name, readiness(n))
		switch {
		case want == "deleted":
			return !found || !n.Registered, why, nil
		case !found:
			return noNode(w, name)
		case want == "registered":
			return n.Registered, why, nil
		case want == "initialized":
			return n.Initialized, "node " + name + " is not initialized", nil
		case want == "NotReady": // as kubectl shows it, False or Unknown
			return n.Registered && n.Ready != "True", why, nil
		case want == "Ready":
			return n.Ready == "True", why, nil
		}
		return n.Ready == want, why, nil
	}
}

func readiness(n api.Node) string {
	switch r := tables.Ready(n); r {
	case "True":
		return "Ready"
	case "False", "":
		return "NotReady"
	default:
		return r
	}
}

// tainted judges a taint by its key, which may be given without its domain.
func tainted(name, key string, want bool) func(world) (bool, string, error) {
	return func(w world) (bool, string, error) {
		n, found := findNode(w, name)
		if !found {
			return noNode(w, name)
		}
		has := slices.ContainsFunc(n.Taints, func(t string) bool {
			k, _, _ := strings.Cut(t, ":")
			k, _, _ = strings.Cut(k, "=")
			return k == key || strings.HasSuffix(k, "/"+key)
		})
		why := "there are none"
		if len(n.Taints) > 0 {
			why = strings.Join(n.Taints, ", ")
		}
		return has == want, fmt.Sprintf("the taints of node %s: %s", name, why), nil
	}
}

func vmIs(name, want string) func(world) (bool, string, error) {
	return func(w world) (bool, string, error) {
		var names []string
		for _, v := range w.vms {
			if slices.Contains([]string{v.Name, v.Hostname, v.VCenter + "/" + v.Name, v.Path}, name) {
				return v.Power == want, fmt.Sprintf("vm %s is %s", name, v.Power), nil
			}
			names = append(names, v.Name)
		}
		if want == "deleted" {
			return true, "", nil
		}
		return absent(w, "VM", name, names)
	}
}

func vcenterIs(name, want string) func(world) (bool, string, error) {
	return func(w world) (bool, string, error) {
		var names []string
		for _, v := range w.vcenters {
			if v.Name == name {
				return v.Gate == want, fmt.Sprintf("vcenter %s is %s", name, v.Gate), nil
			}
			names = append(names, v.Name)
		}
		return absent(w, "vCenter", name, names)
	}
}
