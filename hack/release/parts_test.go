package main

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"debug/buildinfo"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// The document names every module of both programs, here those of this test, and the same ones make the same document.
func TestSBOM(t *testing.T) {
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	info, err := buildinfo.ReadFile(self)
	if err != nil {
		t.Fatal(err)
	}
	program, err := os.ReadFile(self)
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	var packed bytes.Buffer
	z, err := gzip.NewWriterLevel(&packed, gzip.BestSpeed)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := z.Write(program); err != nil {
		t.Fatal(err)
	}
	if err := z.Close(); err != nil {
		t.Fatal(err)
	}
	carried := []string{"vsphere-sandbox-kubernetes_linux_amd64.gz", "csi-sidecars_linux_amd64.gz"}
	for i, name := range carried {
		put(t, dir, name, packed.String())
		carried[i] = filepath.Join(dir, name)
	}
	put(t, dir, "vsphere-sandbox", string(program))
	var documents []string
	for _, out := range []string{"a.json", "b.json"} {
		args := []string{"sbom", "-in", dir, "-binary", "vsphere-sandbox", "-carried", strings.Join(carried, ","), "-version", "v1.2.3", "-out", out}
		if err := run(t.Context(), args, io.Discard); err != nil {
			t.Fatal(err)
		}
		data, err := os.ReadFile(filepath.Join(dir, out))
		if err != nil {
			t.Fatal(err)
		}
		documents = append(documents, string(data))
	}
	if documents[0] != documents[1] {
		t.Error("the second document is another")
	}
	var bom struct {
		BOMFormat string
		Metadata  struct {
			Component struct{ Name, Version string }
		}
		Components   []struct{ Name, Version, PURL string }
		Dependencies []struct {
			Ref       string
			DependsOn []string
		}
	}
	if err := json.Unmarshal([]byte(documents[0]), &bom); err != nil {
		t.Fatal(err)
	}
	if bom.BOMFormat != "CycloneDX" || bom.Metadata.Component.Name != "vsphere-sandbox" || bom.Metadata.Component.Version != "v1.2.3" {
		t.Errorf("is about %+v", bom.Metadata)
	}
	listed := map[string]bool{}
	for _, c := range bom.Components {
		listed[c.Name+" "+c.Version] = true
	}
	for _, m := range info.Deps {
		if !listed[m.Path+" "+m.Version] {
			t.Errorf("%s %s is not listed", m.Path, m.Version)
		}
	}
	if len(info.Deps) == 0 || !listed["std "+info.GoVersion] || !listed["csi-sidecars v1.2.3"] || !listed["vsphere-sandbox-kubernetes v1.2.3"] || len(bom.Dependencies) != 3 {
		t.Errorf("lacks the Go release, or a program that is carried:\n%s", documents[0])
	}
}

// The charts of this repository, packaged: a folder of the chart's name, and the release in Chart.yaml.
func TestCharts(t *testing.T) {
	for version, want := range map[string]string{"1.2.3": "1.2.3", "1.2.3-4-gabc-dirty": "1.2.3-4-gabc-dirty", "0a1b2c3-dirty": "0.0.0-g0a1b2c3-dirty"} {
		out := t.TempDir()
		put(t, out, "old-0.9.0.tgz", "of another release")
		var said bytes.Buffer
		if err := run(t.Context(), []string{"charts", "-root", "../..", "-out", out, "-version", version}, &said); err != nil {
			t.Fatal(err)
		}
		var names []string
		for line := range strings.Lines(said.String()) {
			names = append(names, filepath.Base(strings.TrimSpace(line)))
			data, err := os.ReadFile(strings.TrimSpace(line))
			if err != nil {
				t.Fatal(err)
			}
			name := strings.TrimSuffix(filepath.Base(strings.TrimSpace(line)), "-"+want+".tgz")
			files := contents(t, data)
			for _, file := range []string{"Chart.yaml", "values.yaml", "values.schema.json", "README.md"} {
				if files[name+"/"+file] == "" {
					t.Errorf("%s has no %s", name, file)
				}
			}
			for file := range files {
				if !strings.HasPrefix(file, name+"/") || strings.HasSuffix(file, ".go") {
					t.Errorf("%s has %s", name, file)
				}
			}
			image := name
			if name == "vcenters" { // runs the program, too
				image = "vsphere-sandbox"
			}
			if values := text(t, data, name+"/values.yaml"); strings.Contains(values, "localhost/") || !strings.Contains(values, "repository: ghcr.io/vsphere-sandbox/"+image+"\n") {
				t.Errorf("%s installs what nobody can pull:\n%s", name, values)
			}
			// Nothing is left out but Go.
			err = filepath.WalkDir(filepath.Join("../../charts", name), func(file string, d os.DirEntry, err error) error {
				below, _ := filepath.Rel("../../charts", file)
				if err == nil && !d.IsDir() && filepath.Ext(file) != ".go" && files[filepath.ToSlash(below)] == "" {
					t.Errorf("%s lacks %s", name, below)
				}
				return err
			})
			if err != nil {
				t.Fatal(err)
			}
		}
		if diff := cmp.Diff([]string{"vcenters-" + want + ".tgz", "vsphere-cloud-controller-manager-" + want + ".tgz", "vsphere-csi-" + want + ".tgz", "vsphere-sandbox-" + want + ".tgz"}, names); diff != "" {
			t.Errorf("(-want +got):\n%s", diff)
		}
		if left, err := filepath.Glob(filepath.Join(out, "*")); err != nil || len(left) != 4 {
			t.Errorf("%v, %v", left, err)
		}
	}
	chart, name, err := released([]byte("# why\nname: a\nversion: 0.1.0 # ours\nappVersion: dev\n"), "1.2.3")
	if err != nil || name != "a" || string(chart) != "# why\nname: a\nversion: 1.2.3 # ours\nappVersion: v1.2.3\n" {
		t.Errorf("%q, %q, %v", chart, name, err)
	}
	for _, bad := range []string{"", "[]", "name: a\n", "version: ["} {
		if _, _, err := released([]byte(bad), "1.2.3"); err == nil {
			t.Errorf("%q is a chart", bad)
		}
	}
}

// text is a file of an archive.
func text(t *testing.T, data []byte, name string) string {
	t.Helper()
	z, err := gzip.NewReader(bytes.NewReader(data))
	if err != nil {
		t.Fatal(err)
	}
	for r := tar.NewReader(z); ; {
		h, err := r.Next()
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		if h.Name == name {
			text, err := io.ReadAll(r)
			if err != nil {
				t.Fatal(err)
			}
			return string(text)
		}
	}
}

// Images are those of the release, and nothing else of the text changes.
func TestPullable(t *testing.T) {
	got, err := pullable([]byte("# why\nimage:\n  repository: localhost/a-b\n  tag: \"\"\nother:\n    repository: localhost/c\n"), "r.example/x")
	if diff := cmp.Diff("# why\nimage:\n  repository: r.example/x/a-b\n  tag: \"\"\nother:\n    repository: r.example/x/c\n", string(got)); diff != "" || err != nil {
		t.Errorf("%v (-want +got):\n%s", err, diff)
	}
	for _, bad := range []string{"", "image: {repository: localhost/a}\n", "image:\n  repository: elsewhere/a\n", "image:\n  repository: localhost/a\n  other: localhost/b\n"} {
		if got, err := pullable([]byte(bad), registry); err == nil {
			t.Errorf("%q became %q", bad, got)
		}
	}
}

// Four archives give a formula for a tap; a missing archive is an error, except in a snapshot.
func TestFormula(t *testing.T) {
	dist := t.TempDir()
	var sums strings.Builder
	for i, platform := range []string{"darwin_amd64", "darwin_arm64", "linux_amd64", "linux_arm64"} {
		fmt.Fprintf(&sums, "%064x  vsphere-sandbox_1.2.3_%s.tar.gz\n", i+1, platform)
	}
	put(t, dist, "checksums.txt", sums.String())
	args := []string{"formula", "-root", "../..", "-dist", dist, "-version", "1.2.3"}
	if err := run(t.Context(), args, io.Discard); err != nil {
		t.Fatal(err)
	}
	file := filepath.Join(dist, "vsphere-sandbox.rb")
	got, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	for i, platform := range []string{"darwin_amd64", "darwin_arm64", "linux_amd64", "linux_arm64"} {
		want := fmt.Sprintf("url \"https://github.com/vsphere-sandbox/vsphere-sandbox/releases/download/v1.2.3/vsphere-sandbox_1.2.3_%s.tar.gz\"\n      sha256 \"%064x\"\n", platform, i+1)
		if !strings.Contains(string(got), want) {
			t.Errorf("lacks %s:\n%s", want, got)
		}
	}
	if ruby, err := exec.LookPath("ruby"); err == nil {
		if out, err := exec.Command(ruby, "-c", file).CombinedOutput(); err != nil {
			t.Errorf("%v: %s", err, out)
		}
	}
	_, rest, _ := strings.Cut(sums.String(), "\n")
	put(t, dist, "checksums.txt", rest)
	if err := run(t.Context(), args, io.Discard); err == nil || !strings.Contains(err.Error(), "has no vsphere-sandbox_1.2.3_darwin_amd64.tar.gz") {
		t.Errorf("without one: %v", err)
	}
	if err := run(t.Context(), append(args, "-partial"), io.Discard); err != nil {
		t.Errorf("without one, tried out: %v", err)
	}
	put(t, dist, "checksums.txt", "what is this\n")
	if err := run(t.Context(), args, io.Discard); err == nil || !strings.Contains(err.Error(), "checksums.txt:1: ") {
		t.Errorf("of no sums: %v", err)
	}
}
