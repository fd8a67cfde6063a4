package archtest

import "fmt"

// floor is a layer of the module: what is on it imports lower floors, and otherwise only what is in its own tree.
type floor struct {
	number int
	what   string
	trees  []string // first-level trees; packages of one tree may import each other
}

// floors is the house. A package that is on none of them has to be given a place first.
func floors() []floor {
	return []floor{
		{0, "plain data and small tools: they know neither vSphere nor Kubernetes", []string{
			"pkg/event/...", "pkg/topology/...", "scenarios", "tutorials", "manifests", "charts/...",
			"internal/archtest", "internal/atomicfile", "internal/backoff", "internal/build", "internal/carried", "internal/cert", "internal/chart", "internal/child", "internal/console", "internal/instance",
			"internal/input", "internal/iostreams", "internal/kubernetes/...", "internal/printable", "internal/pace", "internal/private", "internal/trim", "internal/nearest", "internal/race", "internal/ccm", "internal/program", "internal/wire", "internal/loopback", "internal/capability", "internal/preflight", "internal/sidecars", "internal/upstream/...", "internal/csidriver", "internal/secret/...", "internal/coded", "internal/glob", "internal/guestfiles", "internal/notify", "internal/strict", "internal/shorten",
		}},
		{1, "what runs in production without any sandbox", []string{"pkg/provider/...", "pkg/csi/..."}},
		{2, "the parts that a sandbox is made of; they do not know of each other", []string{
			"pkg/sim/...", "pkg/supervisor", "pkg/cluster/...", "pkg/node/...", "internal/migrate/...", "pkg/vcenter/...", "internal/tutorial/...",
		}},
		{3, "one sandbox: puts the parts together and answers for them", []string{"pkg/sandbox/...", "pkg/ground/..."}},
		{4, "what looks at a sandbox through its API and its events", []string{"pkg/tui/...", "pkg/scenario/..."}},
		{5, "the program: it alone reads flags and writes to the terminal", []string{"internal/cli/...", "cmd/...", "test/...", "hack/...", "docs"}},
	}
}

// tools are packages of floor 0 that every package may import, those that run in production too: each does one small thing,
// knows neither vSphere nor Kubernetes nor a sandbox, and imports nothing of this module but other tools.
func tools() []string {
	return []string{"internal/atomicfile", "internal/backoff", "internal/capability", "internal/coded", "internal/glob", "internal/input", "internal/nearest", "internal/notify", "internal/strict", "internal/shorten"}
}

// sideways are the steps between trees of one floor.
func sideways() []edge {
	return []edge{
		{"scenarios", "pkg/topology/...", "a scenario is a topology in a file"},
		{"cmd/...", "internal/cli/...", "the program is its commands"},
		{"internal/instance", "internal/private", "what lies in a state directory is believed only when no other user can have put it there"},
		{"internal/program", "internal/private", "a program in the cache is run only when no other user can have put it there"},
		{"internal/carried", "internal/private", "a program in the cache is run only when no other user can have put it there"},
		{"internal/kubernetes/programs", "internal/private", "a program in the cache is run only when no other user can have put it there"},
		{"internal/sidecars", "internal/carried", "a release carries the program"},
		{"internal/kubernetes/programs", "internal/carried", "a release carries the program of the default Kubernetes release"},
		{"internal/kubernetes/programs", "internal/upstream", "a Kubernetes program is built by the Go toolchain"},
		{"internal/kubernetes/contract", "internal/child", "a child's configuration is a file"},
		{"internal/kubernetes/objects", "internal/kubernetes/contract", "etcd knows a restore by the metadata that the contract names"},
		{"internal/kubernetes/contract", "internal/pace", "control planes and kubelets run at the sandbox's speed"},
		{"internal/build", "internal/kubernetes/release", "which Kubernetes release is the default stands in one table"},
		{"internal/program", "internal/upstream", "what a user brings may be a program of a Go module"},
		{"internal/ccm", "internal/program", "a cloud controller manager is a program that a user may bring"},
		{"internal/csidriver", "internal/program", "a CSI driver is programs that a user may bring"},
		{"pkg/topology", "internal/kubernetes/release", "a topology may name the release of its cluster"},
		{"internal/child", "internal/secret", "a child's environment has no secret but those that its spec names"},
		{"internal/preflight", "internal/loopback", "what listens later is tried before anything boots"},
		{"pkg/sandbox", "pkg/ground/...", "a sandbox stands on a ground"},
		{"pkg/sandbox/boot", "pkg/ground", "a boot runs the steps that the ground puts in order"},
		{"pkg/sandbox/nodes", "pkg/ground", "the ground makes the guests of nodes"},
		{"pkg/sandbox/clusterwatch", "pkg/ground", "the ground decides which Nodes are the sandbox's"},
		{"pkg/sandbox/processes", "pkg/ground", "the ground decides what faults may do to processes"},
		{"pkg/ground/...", "pkg/sandbox/api", "a ground refuses in the words of the API"},
		{"pkg/ground/...", "pkg/sandbox/world", "a ground sees VMs as they are watched"},
		{"pkg/csi/...", "pkg/provider/...", "one configuration and one way to a vCenter for both"},
		{"pkg/cluster/kind/guest/...", "pkg/node", "a container of kind's is a guest of a VM, as a kubelet in a process is"},
		{"internal/migrate/...", "pkg/vcenter/...", "a migration asks vCenters what doctor asks"},
		{"pkg/vcenter/front", "pkg/sim/gate", "one gate stands before every vCenter, simulated or real"},
	}
}

// edge allows one import.
type edge struct{ from, to, why string }

func allowed(edges []edge, from, to string) bool {
	for _, e := range edges {
		if match([]string{e.from}, from) && match([]string{e.to}, to) {
			return true
		}
	}
	return false
}

// place returns the floor and the tree of a package.
func place(dir string) (f floor, tree string, ok bool) {
	for _, f := range floors() {
		for _, tree := range f.trees {
			if match([]string{tree}, dir) {
				return f, tree, true
			}
		}
	}
	return floor{}, "", false
}

func checkFloors(m *Module) []Violation {
	var found []Violation
	for _, f := range m.dirs() {
		if _, _, ok := place(f.Dir); !ok {
			found = append(found, Violation{
				File: f.Path, What: fmt.Sprintf("package %s is on no floor", f.Dir),
				Why: "every package has a place in the table of floors, so that somebody has thought about it",
			})
		}
	}
	for _, f := range m.Files {
		if f.Test {
			continue
		}
		own, tree, ok := place(f.Dir)
		if !ok {
			continue
		}
		for _, i := range f.Imports {
			dir, ok := m.within(i.Path)
			if !ok {
				continue
			}
			other, otherTree, ok := place(dir)
			switch {
			case !ok, otherTree == tree, other.number < own.number, match(tools(), dir), allowed(sideways(), f.Dir, dir):
			case other.number == own.number:
				found = append(found, violation(f, i, "trees of one floor do not know of each other",
					"imports %s, which is on floor %d, too", dir, own.number))
			default:
				found = append(found, violation(f, i, fmt.Sprintf("a package imports only lower floors; floor %d is %s", own.number, own.what),
					"on floor %d, imports %s of floor %d", own.number, dir, other.number))
			}
		}
	}
	return found
}
