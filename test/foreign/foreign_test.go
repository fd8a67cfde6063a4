package foreign

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/vsphere-sandbox/vsphere-sandbox/test/program"
)

// simulator is a test of another module that boots the vCenters of a built-in topology.
const simulator = `package foreign

import (
	"testing"

	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/sim"
)

func TestVCenters(t *testing.T) {
	ca, err := sim.NewCA("mine")
	if err != nil {
		t.Fatal(err)
	}
	lab := sim.Start(t, "zones-us-eu")
	if n := len(lab.VCenters()); n != 2 {
		t.Errorf("%d vCenters", n)
	}
	top := lab.Topology()
	if other := sim.StartWith(t, sim.Options{Topology: top, CA: ca, Speed: 10}); len(other.VCenters()) != 2 {
		t.Error("the second simulation")
	}
}
`

// provider is a cloud controller manager of another module.
const provider = `package main

import (
	"context"
	"fmt"
	"os"

	cloudprovider "k8s.io/cloud-provider"

	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/provider"
)

func main() {
	if !cloudprovider.IsCloudProvider(provider.Name) {
		fmt.Println("not registered")
	}
	if err := provider.Run(context.Background(), os.Args[1:]); err != nil {
		fmt.Println(err)
	}
}
`

func TestSimulator(t *testing.T) {
	m := newModule(t, "foreign_test.go", simulator)
	m.run("test", ".")
	if list := m.run("list", "-m", "all"); strings.Contains(list, "k8s.io/kubernetes ") {
		t.Errorf("the simulator requires Kubernetes:\n%s", list)
	}
}

func TestProvider(t *testing.T) {
	m := newModule(t, "main.go", provider)
	m.run("build", "-o", os.DevNull, ".")
}

// module is another module, in a temporary folder.
type module struct {
	*testing.T
	dir string
}

func newModule(t *testing.T, name, text string) *module {
	t.Helper()
	root, err := program.Root()
	if err != nil {
		t.Fatal(err)
	}
	sums, err := os.ReadFile(filepath.Join(root, "go.sum"))
	if err != nil {
		t.Fatal(err)
	}
	m := &module{t, t.TempDir()}
	const path = "github.com/vsphere-sandbox/vsphere-sandbox"
	for file, text := range map[string]string{
		"go.mod": "module example.com/foreign\n\ngo 1.26.0\n\nrequire " + path + " v0.0.0\n\nreplace " + path + " => " + root + "\n",
		"go.sum": string(sums), name: text,
	} {
		if err := os.WriteFile(filepath.Join(m.dir, file), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	return m
}

// run runs the go command, which adds to go.mod what is imported.
func (m *module) run(args ...string) string {
	m.Helper()
	cmd := exec.CommandContext(m.Context(), "go", args...)
	cmd.Dir = m.dir
	cmd.Env = append(os.Environ(), "GOFLAGS=-mod=mod", "GOWORK=off")
	out, err := cmd.CombinedOutput()
	if err != nil {
		m.Fatalf("go %s: %v\n%s", strings.Join(args, " "), err, out)
	}
	return string(out)
}
