package topology_test

import (
	"errors"
	"flag"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/topology"
)

var update = flag.Bool("update", false, "write the golden files anew")

// Each testdata/valid-*.yaml resolves to what its .resolved file holds, which in turn loads to itself.
func TestLoadValid(t *testing.T) {
	for _, file := range glob(t, "testdata/valid-*.yaml") {
		t.Run(filepath.Base(file), func(t *testing.T) {
			resolved, err := topology.Load(filepath.Base(file), read(t, file))
			if err != nil {
				t.Fatalf("Load: %v", err)
			}
			text, err := topology.Marshal(resolved)
			if err != nil {
				t.Fatalf("Marshal: %v", err)
			}
			golden(t, strings.TrimSuffix(file, ".yaml")+".resolved", string(text))

			again, err := topology.Load("resolved.yaml", text)
			if err != nil {
				t.Fatalf("Load of what Marshal made: %v", err)
			}
			if diff := cmp.Diff(resolved, again); diff != "" {
				t.Errorf("round trip (-resolved +loaded again):\n%s", diff)
			}
		})
	}
}

// Each testdata/invalid-*.yaml is refused with the errors in its .err file.
func TestLoadInvalid(t *testing.T) {
	for _, file := range glob(t, "testdata/invalid-*.yaml") {
		t.Run(filepath.Base(file), func(t *testing.T) {
			got, err := topology.Load(filepath.Base(file), read(t, file))
			if err == nil {
				t.Fatal("Load took it")
			}
			if got != nil {
				t.Error("Load returned a topology beside its error")
			}
			var all topology.Errors
			if !errors.As(err, &all) || len(all) == 0 {
				t.Fatalf("Load's error is a %T, want topology.Errors", err)
			}
			golden(t, strings.TrimSuffix(file, ".yaml")+".err", err.Error()+"\n")
		})
	}
}

func TestErrorsCapped(t *testing.T) {
	var file strings.Builder
	file.WriteString("apiVersion: sandbox.vsphere/v1alpha1\nkind: Topology\nmetadata: {name: x}\nspec:\n  vcenters: [{name: v, datacenters: [{name: d}]}]\n")
	for range 100 {
		file.WriteString("  oops: 1\n")
	}
	_, err := topology.Load("long.yaml", []byte(file.String()))
	var all topology.Errors
	if !errors.As(err, &all) || len(all) != 100 {
		t.Fatalf("%d errors, want 100", len(all))
	}
	lines := strings.Split(err.Error(), "\n")
	if len(lines) != 41 || lines[40] != "and 60 more" {
		t.Errorf("%d lines, the last %q; want 40 and then \"and 60 more\"", len(lines), lines[len(lines)-1])
	}
	var one topology.Error
	if !errors.As(err, &one) || one.Line != 6 {
		t.Errorf("the first error is %+v, want the one on line 6", one)
	}
}

func TestLoadTooBig(t *testing.T) {
	data := []byte(strings.Repeat("# ten bytes\n", 10<<20/12))
	_, err := topology.Load("big.yaml", data)
	want := "big.yaml:1:1: is longer than the 8 MiB a topology may have"
	if err == nil || err.Error() != want {
		t.Errorf("got %v\nwant %s", err, want)
	}
}

func TestLoadFile(t *testing.T) {
	dir := t.TempDir()
	absent := filepath.Join(dir, "absent.yaml")
	if _, err := topology.LoadFile(absent); !errors.Is(err, os.ErrNotExist) || err.Error() != "topology "+absent+": no such file or directory" {
		t.Errorf("an absent file gives %v, want os.ErrNotExist", err)
	}
	if _, err := topology.LoadFile(dir); err == nil {
		t.Error("a directory was taken")
	}
	endless := filepath.Join(dir, "big.yaml")
	if err := os.WriteFile(endless, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.Truncate(endless, 1<<40); err != nil {
		t.Fatal(err)
	}
	if _, err := topology.LoadFile(endless); err == nil || !strings.Contains(err.Error(), "longer than the 8 MiB") {
		t.Errorf("a terabyte gives %v, want a refusal for its size", err)
	}
	if _, err := topology.LoadFile("testdata/valid-tiny.yaml"); err != nil {
		t.Error(err)
	}
}

func glob(t *testing.T, pattern string) []string {
	t.Helper()
	files, err := filepath.Glob(pattern)
	if err != nil || len(files) == 0 {
		t.Fatalf("no %s (%v)", pattern, err)
	}
	return files
}

func read(t *testing.T, file string) []byte {
	t.Helper()
	data, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	return data
}

func golden(t *testing.T, file, got string) {
	t.Helper()
	if *update {
		if err := os.WriteFile(file, []byte(got), 0o644); err != nil {
			t.Fatal(err)
		}
		return
	}
	if diff := cmp.Diff(string(read(t, file)), got); diff != "" {
		t.Errorf("%s (-want +got; -update writes it anew):\n%s", file, diff)
	}
}

func TestLoadExhausted(t *testing.T) {
	_, err := topology.Load("small.yaml", []byte(`apiVersion: sandbox.vsphere/v1alpha1
kind: Topology
metadata: {name: small}
spec:
  vcenters:
    - name: a
      datacenters:
        - name: dc
          networks: [{name: n, cidr: 10.0.0.0/29}]
          hosts: [{name: h}]
          vms: [{name: vm, replicas: 20}]
`))
	want := `small.yaml:11:17: spec.vcenters[0].datacenters[0].vms[0]: addresses of network "n" are used up: 10.0.0.0/29 has 5, and 20 are needed here`
	if err == nil || err.Error() != want {
		t.Errorf("got %v\nwant %s", err, want)
	}
}
