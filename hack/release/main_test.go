package main

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"errors"
	"io"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// put writes a file of a repository.
func put(t *testing.T, root, name, text string) {
	t.Helper()
	file := filepath.Join(root, name)
	if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(file, []byte(text), 0o755); err != nil {
		t.Fatal(err)
	}
}

// contents are the files of an archive, by name, each with its mode and owner.
func contents(t *testing.T, data []byte) map[string]string {
	t.Helper()
	z, err := gzip.NewReader(bytes.NewReader(data))
	if err != nil {
		t.Fatal(err)
	}
	all := map[string]string{}
	for r := tar.NewReader(z); ; {
		h, err := r.Next()
		if errors.Is(err, io.EOF) {
			return all
		}
		if err != nil {
			t.Fatal(err)
		}
		all[h.Name] = h.FileInfo().Mode().String() + " " + h.Uname
	}
}

// The file that releases are made of is understood whole, for every platform that it names.
func TestOurConfiguration(t *testing.T) {
	c, err := readConfig("../../.goreleaser.yaml")
	if err != nil {
		t.Fatal(err)
	}
	t.Setenv("LDFLAGS", "-s -w")
	t.Setenv("VERSION", "v1.2.3-4-gabc")
	var archives []string
	for _, goos := range c.Builds[0].Goos {
		for _, goarch := range c.Builds[0].Goarch {
			v, err := newValues(t.Context(), c, "../..", goos, goarch)
			if err != nil {
				t.Fatal(err)
			}
			texts := slices.Concat(c.Before.Hooks, c.Builds[0].Env, c.Builds[0].Ldflags, c.Builds[0].Hooks.Pre, c.SBOMs[0].Documents, c.SBOMs[0].Args)
			for _, f := range c.Archives[0].Files {
				texts = append(texts, f.Src, f.Info.MTime)
				if f.Info.Mode != 0o644 || f.Info.Owner != "root" || f.Info.Group != "root" || f.Info.MTime == "" {
					t.Errorf("archives: %s is as this machine has it: %+v", f.Src, f.Info)
				}
			}
			if _, err := v.all(texts); err != nil {
				t.Error(err)
			}
			name, err := v.apply(c.Archives[0].NameTemplate)
			if err != nil {
				t.Error(err)
			}
			archives = append(archives, name)
		}
	}
	want := []string{
		"vsphere-sandbox_1.2.3-4-gabc_linux_amd64", "vsphere-sandbox_1.2.3-4-gabc_linux_arm64",
		"vsphere-sandbox_1.2.3-4-gabc_darwin_amd64", "vsphere-sandbox_1.2.3-4-gabc_darwin_arm64",
	}
	if diff := cmp.Diff(want, archives); diff != "" {
		t.Errorf("archives (-want +got):\n%s", diff)
	}
}

// tiny is a repository whose program links one module, and whose release has all that ours has.
func tiny(t *testing.T) string {
	t.Helper()
	root := t.TempDir()
	for name, text := range map[string]string{
		"go.mod":            "module example.test/tiny\n\ngo 1.26\n",
		"cmd/tiny/main.go":  "package main\n\nvar version string\n\nfunc main() { print(version) }\n",
		"LICENSE":           "terms",
		"hook":              "#!/bin/sh\nset -eu\nmkdir -p extras/man/deep\necho $2 >extras/man/tiny.1\necho x >extras/man/deep/er.1\n",
		"charts/a/c-1.tgz":  "a chart",
		".goreleaser.yaml":  tinyConfig,
		"dist/old/whatever": "gone afterwards",
	} {
		put(t, root, name, text)
	}
	for _, args := range [][]string{{"init", "-q"}, {"add", "."}, {"-c", "user.name=t", "-c", "user.email=t@example.test", "commit", "-q", "-m", "all"}} {
		if out, err := exec.Command("git", append([]string{"-C", root}, args...)...).CombinedOutput(); err != nil {
			t.Fatalf("git %v: %v: %s", args, err, out)
		}
	}
	return root
}

const tinyConfig = `version: 2
project_name: tiny
dist: dist
env: [CGO_ENABLED=0]
before: {hooks: ["./hook before {{ .Version }}"]}
builds:
  - id: tiny
    main: ./cmd/tiny
    binary: tiny
    goos: [linux, darwin]
    goarch: [amd64, arm64]
    env: ["GOFLAGS=-buildvcs=false{{ if not .IsSnapshot }} -trimpath{{ end }}"]
    tags: [release]
    ldflags: ["-X main.version={{ .Version }} {{ .Env.LDFLAGS }}"]
    mod_timestamp: "{{ .CommitTimestamp }}"
archives:
  - id: tiny
    formats: [tar.gz]
    name_template: "tiny_{{ .Version }}_{{ .Os }}"
    wrap_in_directory: "true"
    builds_info: {owner: root, mtime: "{{ .CommitDate }}"}
    files:
      - {src: LICENSE, info: {mode: 0644, owner: root, mtime: "{{ .CommitDate }}"}}
      - {src: extras/man, dst: man, info: {mode: 0644, owner: root, mtime: "{{ .CommitDate }}"}}
sboms:
  - id: x
    artifacts: binary
    documents: ["bill.json"]
    cmd: cp
    args: [$artifact, $document]
checksum:
  name_template: checksums.txt
  extra_files: [{glob: "charts/*/*.tgz"}]
snapshot: {version_template: '{{ trimprefix .Env.VERSION "v" }}'}
`

// One platform: the hooks, the program, the archive with what it is to have, the document, and sums that hold; and the same
// again when it is done again.
func TestSingle(t *testing.T) {
	t.Setenv("LDFLAGS", "-s -w")
	t.Setenv("VERSION", "v1.2.3")
	root := tiny(t)
	var packed [][]byte
	for range 2 {
		if err := run(t.Context(), []string{"single", "-root", root}, io.Discard); err != nil {
			t.Fatal(err)
		}
		data, err := os.ReadFile(filepath.Join(root, "dist", "tiny_1.2.3_"+runtime.GOOS+".tar.gz"))
		if err != nil {
			t.Fatal(err)
		}
		packed = append(packed, data)
	}
	if !bytes.Equal(packed[0], packed[1]) {
		t.Error("the second archive is another")
	}
	top := "tiny_1.2.3_" + runtime.GOOS
	want := map[string]string{
		top + "/LICENSE": "-rw-r--r-- root", top + "/man/tiny.1": "-rw-r--r-- root", top + "/man/deep/er.1": "-rw-r--r-- root", top + "/tiny": "-rwxr-xr-x root",
	}
	if diff := cmp.Diff(want, contents(t, packed[0])); diff != "" {
		t.Errorf("archive (-want +got):\n%s", diff)
	}
	program := filepath.Join(root, "dist", "tiny_"+runtime.GOOS+"_"+runtime.GOARCH, "tiny")
	if out, err := exec.Command(program).CombinedOutput(); err != nil || string(out) != "1.2.3" {
		t.Errorf("the program says %q, %v", out, err)
	}
	sums, err := readSums(filepath.Join(root, "dist", "checksums.txt"))
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff([]string{"bill.json", "c-1.tgz", top + ".tar.gz"}, slices.Sorted(maps.Keys(sums))); diff != "" {
		t.Errorf("sums (-want +got):\n%s", diff)
	}
	if sum, err := sha256Of(filepath.Join(root, "dist", top+".tar.gz")); err != nil || sum != sums[top+".tar.gz"] {
		t.Errorf("the archive's sum is %s, %v", sum, err)
	}
	if _, err := os.Stat(filepath.Join(root, "dist", "old")); err == nil {
		t.Error("what lay there is still there")
	}
}

// What this reader would do otherwise than GoReleaser it does not do at all.
func TestRefused(t *testing.T) {
	t.Setenv("LDFLAGS", "")
	t.Setenv("VERSION", "v1")
	for _, test := range []struct{ old, new, want string }{
		{"project_name:", "universal_binaries: []\nproject_name:", "line 2: field universal_binaries not found"},
		{"version: 2", "version: 1", "version 1, not 2"},
		{"dist: dist", "dist: ..", `dist: ".." is not below the repository`},
		{"[tar.gz]", "[zip]", "tar.gz alone is understood"},
		{`wrap_in_directory: "true"`, `wrap_in_directory: "false"`, "without wrap_in_directory"},
		{"{{ .Os }}", "{{ .Oss }}", `no entry for key "Oss"`},
		{"./hook before", "./hook 'before'", "quotes are not understood"},
		{"src: LICENSE", "src: LICENCE", "no file is LICENCE"},
		{"goos: [linux, darwin]", "goos: [plan9]", "releases are for plan9"},
		{"cmd: cp", "cmd: false", "false: exit status 1"},
	} {
		root := tiny(t)
		put(t, root, ".goreleaser.yaml", strings.Replace(tinyConfig, test.old, test.new, 1))
		if err := run(t.Context(), []string{"single", "-root", root}, io.Discard); err == nil || !strings.Contains(err.Error(), test.want) {
			t.Errorf("%s: got %v, want %s", test.new, err, test.want)
		}
	}
}
