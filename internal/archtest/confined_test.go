package archtest

import "strings"

// confinement keeps outside packages in a few places.
type confinement struct {
	imports []string
	in      []string // nil means nowhere
	// tests says that tests elsewhere may import them all the same.
	tests bool
	why   string
}

func confinements() []confinement {
	return []confinement{
		{
			imports: []string{"k8s.io/kubernetes/..."},
			why:     "it is the Kubernetes program's, the module kubernetes/: it takes minutes to compile and has no stable API",
		},
		{
			imports: []string{"go.etcd.io/etcd/server/..."},
			why:     "a database server belongs to the one process that is the control plane, of the module kubernetes/",
		},
		{
			imports: []string{"github.com/vmware/govmomi/simulator/...", "github.com/vmware/govmomi/.../simulator/..."},
			in:      []string{"pkg/sim/..."},
			why:     "everything but pkg/sim speaks the vSphere API, so that a real vCenter can take the simulator's place",
		},
		{
			imports: []string{"github.com/spf13/cobra/..."},
			in:      []string{"internal/cli/...", "cmd/..."},
			why:     "only the command line knows that it is a command line",
		},
		{
			imports: []string{"k8s.io/kubectl/..."},
			in:      []string{"internal/cli/kubectl/..."},
			why:     "it is a program to be passed through, not a library to be built on",
		},
		{
			imports: []string{"github.com/vmware/govmomi/cli/..."},
			in:      []string{"internal/cli/govc/...", "test/kind/govc"},
			tests:   true,
			why:     "govc's commands register themselves in process-wide tables",
		},
		{
			imports: []string{"sigs.k8s.io/kind/..."},
			in:      []string{"pkg/cluster/kind/..."},
			why:     "kind is one of several grounds, behind the same interface as the others",
		},
		{
			imports: []string{
				"charm.land/...", "github.com/charmbracelet/...",
			},
			in:  []string{"pkg/tui/..."},
			why: "the terminal UI is one reader of the event log among others",
		},
		{
			imports: []string{"helm.sh/helm/..."},
			in:      []string{"internal/chart"},
			why:     "a chart is text once it is rendered: nothing else knows of Helm",
		},
		{
			imports: []string{"github.com/google/go-containerregistry/..."},
			in:      []string{"internal/program"},
			tests:   true,
			why:     "images are one of the places where a program comes from",
		},
		{
			imports: []string{"testing", "testing/...", "net/http/httptest", "github.com/google/go-cmp/..."},
			in:      []string{"internal/cli/clitest", "internal/race", "internal/upstream/upstreamtest", "pkg/sim/nsx/nsxtest", "pkg/tui/tuitest", "test/program"},
			tests:   true,
			why:     "what only tests need is not linked into the program",
		},
		{
			imports: []string{"gopkg.in/yaml.v3/..."},
			why:     "it is archived: go.yaml.in/yaml/v3 is the same code, maintained",
		},
		{
			imports: []string{"github.com/stretchr/testify/...", "github.com/onsi/..."},
			in:      []string{"test/sanity"}, // csi-test's suite is written in ginkgo
			why:     "tests use package testing and go-cmp",
		},
		{
			imports: []string{"github.com/pkg/errors/..."},
			why:     "package errors and %w do the same",
		},
	}
}

// where says in which packages the imports stay.
func (c confinement) where() string {
	if len(c.in) == 0 {
		return "no package of this module uses"
	}
	return "stays in " + strings.Join(c.in, ", ")
}

func checkConfined(m *Module) []Violation {
	var found []Violation
	for _, c := range confinements() {
		for _, f := range m.Files {
			if match(c.in, f.Dir) || f.Test && c.tests {
				continue
			}
			for _, i := range f.Imports {
				if match(c.imports, i.Path) {
					found = append(found, violation(f, i, c.why, "imports %s, which %s", i.Path, c.where()))
				}
			}
		}
	}
	return found
}
