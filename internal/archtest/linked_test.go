package archtest

import (
	"maps"
	"slices"
	"strings"
)

// link is a rule about what is linked, however indirectly, through packages of this module.
type link struct {
	// packages are those that the rule is about; but leaves some of them out.
	packages, but []string
	// never are outside packages that they may not link; nil means every one but the standard library.
	never []string
	why   string
}

func links() []link {
	return []link{
		{
			packages: []string{"..."},
			never:    []string{"k8s.io/kubernetes/..."},
			why:      "it is the Kubernetes program's, the module kubernetes/: whoever imports a package of this module needs no replace lines",
		},
		{
			packages: []string{"pkg/sandbox/api/...", "pkg/event", "internal/pace", "internal/cert"},
			why:      "a command that asks for status needs no simulator and no Kubernetes client; what everything stands on is light",
		},
		{
			packages: []string{"pkg/sim/gate"},
			never:    []string{"github.com/vmware/govmomi/simulator/...", "github.com/vmware/govmomi/.../simulator/...", "k8s.io/..."},
			why:      "the gate stands before any handler that speaks the vSphere API",
		},
		{
			packages: []string{"pkg/topology", "scenarios"},
			never:    []string{"github.com/vmware/govmomi/...", "k8s.io/..."},
			why:      "a topology is plain data, whoever builds it",
		},
		{
			packages: []string{"pkg/provider/vcenter", "pkg/provider/inventory", "pkg/provider/config"},
			never:    []string{"k8s.io/..."},
			why:      "vCenters are watched without knowing of Kubernetes; package provider joins the two",
		},
	}
}

func checkLinked(m *Module) []Violation {
	graph := newGraph(m)
	var found []Violation
	for _, l := range links() {
		for _, dir := range slices.Sorted(maps.Keys(graph)) {
			if !match(l.packages, dir) || match(l.but, dir) {
				continue
			}
			if v, ok := graph.reaches(dir, l); ok {
				found = append(found, v)
			}
		}
	}
	return found
}

// graph is what each package of the module imports, tests left out.
type graph map[string][]reached

// reached is one import with where it stands.
type reached struct {
	file     File
	imported Import
	dir      string // of this module; empty for any other package
}

func newGraph(m *Module) graph {
	g := graph{}
	for _, f := range m.Files {
		if f.Test {
			continue
		}
		if g[f.Dir] == nil {
			g[f.Dir] = []reached{}
		}
		for _, i := range f.Imports {
			r := reached{file: f, imported: i}
			if dir, ok := m.within(i.Path); ok {
				r.dir = dir
			}
			g[f.Dir] = append(g[f.Dir], r)
		}
	}
	return g
}

// reaches returns the nearest way, if there is one, from a package to what the rule keeps from it.
func (g graph) reaches(from string, l link) (Violation, bool) {
	type step struct {
		dir   string
		way   []string
		first *reached // the import by which the package itself begins the way
	}
	seen := map[string]bool{from: true}
	for queue := []step{{dir: from}}; len(queue) > 0; queue = queue[1:] {
		at := queue[0]
		for _, r := range g[at.dir] {
			first := at.first
			if first == nil {
				first = &r
			}
			switch {
			case r.dir != "":
				if !seen[r.dir] {
					seen[r.dir] = true
					queue = append(queue, step{r.dir, append(slices.Clone(at.way), r.dir), first})
				}
			case l.never == nil && !standard(r.imported.Path), match(l.never, r.imported.Path):
				way := strings.Join(append(at.way, r.imported.Path), " → ")
				return violation(first.file, first.imported, l.why, "%s links %s", from, way), true
			}
		}
	}
	return Violation{}, false
}
