package programs

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"context"
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"github.com/vsphere-sandbox/vsphere-sandbox/internal/coded"
	"github.com/vsphere-sandbox/vsphere-sandbox/internal/kubernetes/contract"
	"github.com/vsphere-sandbox/vsphere-sandbox/internal/kubernetes/release"
)

// script is a program that answers the handshake.
func script(t *testing.T, contractVersion int, kubernetes string) string {
	t.Helper()
	b, err := json.Marshal(contract.Info{Contract: contractVersion, Kubernetes: kubernetes})
	if err != nil {
		t.Fatal(err)
	}
	return "#!/bin/sh\n[ \"$*\" = 'version -o json' ] && echo '" + string(b) + "'\n"
}

func put(t *testing.T, path, text string) string {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(text), 0o700); err != nil {
		t.Fatal(err)
	}
	return path
}

func code(err error) string {
	e, ok := errors.AsType[*coded.Error](err)
	if !ok {
		return ""
	}
	return e.Code
}

func minor(t *testing.T, name string) (Source, release.Release) {
	t.Helper()
	s, err := Parse(name)
	if err != nil {
		t.Fatal(err)
	}
	r, _ := s.Release()
	return s, r
}

func TestOpen(t *testing.T) {
	dir := t.TempDir()
	p, err := Open(t.Context(), put(t, filepath.Join(dir, "good"), script(t, contract.Version, "v1.35.4")))
	if err != nil || p.Kubernetes != "v1.35.4" {
		t.Errorf("%+v, %v", p, err)
	}
	machine := byte(0xb7) // EM_AARCH64
	if runtime.GOARCH == "arm64" {
		machine = 0x3e
	}
	elf := "\x7fELF\x02\x01\x01" + strings.Repeat("\x00", 9) + "\x02\x00" + string([]byte{machine}) + strings.Repeat("\x00", 100)
	for name, tc := range map[string]struct{ text, words string }{
		"other contract": {script(t, contract.Version+1, "v1.35.4"), "contract"},
		"other machine":  {elf, runtime.GOOS + "/" + runtime.GOARCH},
		"other program":  {"#!/bin/sh\necho flag provided but not defined >&2\nexit 2\n", "flag provided but not defined"},
		"no answer":      {"#!/bin/sh\n", "is not a Kubernetes program"},
		"empty":          {"", "is not a"},
	} {
		_, err := Open(t.Context(), put(t, filepath.Join(dir, name), tc.text))
		if code(err) != CodeUnusable || !strings.Contains(err.Error(), tc.words) || !strings.Contains(err.Error(), name) {
			t.Errorf("%s: %v", name, err)
		}
	}
	if _, err := Open(t.Context(), filepath.Join(dir, "none")); code(err) != CodeUnusable {
		t.Errorf("missing: %v", err)
	}
}

func TestParse(t *testing.T) {
	for text, want := range map[string]string{"": Builtin, Builtin: Builtin, "1.35": "v1.35", "v1.35.4": "v1.35", "dir:/x": "dir:/x"} {
		if s, err := Parse(text); err != nil || s.String() != want {
			t.Errorf("%q: %s, %v", text, s, err)
		}
	}
	for text, want := range map[string]string{"v1.12": CodeUnknown, "1.35.99": CodeUnknown, "newest": CodeUsage, "dir:": CodeUsage, "../x": CodeUsage} {
		if _, err := Parse(text); code(err) != want {
			t.Errorf("%q: %v", text, err)
		}
	}
}

func TestFindBuiltin(t *testing.T) {
	path := put(t, filepath.Join(t.TempDir(), "kubernetes"), script(t, contract.Version, "v9.9.9"))
	t.Setenv(Env, path)
	for _, name := range []string{Builtin, release.Default().Name()} {
		s, _ := minor(t, name)
		if p, err := (Finder{}).Find(t.Context(), s); err != nil || p.Path != path || p.Kubernetes != "v9.9.9" {
			t.Errorf("%s: %+v, %v", name, p, err)
		}
	}
}

func TestFindDir(t *testing.T) {
	dir := t.TempDir()
	s, err := Parse("dir:" + dir)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := (Finder{}).Find(t.Context(), s); code(err) != CodeMissing {
		t.Errorf("an empty folder: %v", err)
	}
	put(t, filepath.Join(dir, Name), script(t, contract.Version, "v1.35.9"))
	if p, err := (Finder{}).Find(t.Context(), s); err != nil || p.Kubernetes != "v1.35.9" {
		t.Errorf("%+v, %v", p, err)
	}
}

// What the program refuses is one error, without the warnings that its components print before it.
func TestCheckOfKnobs(t *testing.T) {
	path := put(t, filepath.Join(t.TempDir(), Name), `#!/bin/sh
[ "$1" = check ] || exit 9
grep -q refused "${2#--config=}" || exit 0
echo 'W1126 a warning' >&2
echo 'error: kube-apiserver: --refused: no
kube-scheduler: neither' >&2
exit 1
`)
	p := Program{Path: path, Info: contract.Info{Kubernetes: "v1.37.2"}}
	if err := p.Check(t.Context(), contract.Knobs{APIServer: []string{"v=2"}}); err != nil {
		t.Error(err)
	}
	err := p.Check(t.Context(), contract.Knobs{APIServer: []string{"refused=1"}})
	if e, ok := errors.AsType[*coded.Error](err); !ok || e.Code != CodeRefused || e.Try == "" || e.Message != "Kubernetes v1.37.2: kube-apiserver: --refused: no\nkube-scheduler: neither" {
		t.Errorf("%+v", err)
	}
}

// Of the programs that are here, the one for a cluster is the nearest; nothing is built for it.
func TestNearest(t *testing.T) {
	t.Setenv(Env, put(t, filepath.Join(t.TempDir(), "kubernetes"), script(t, contract.Version, release.Default().Version)))
	f := Finder{Cache: t.TempDir(), Go: "/no/such/go"}
	_, old := minor(t, "v1.34")
	put(t, f.path(old), script(t, contract.Version, old.Version))
	if err := os.Chmod(filepath.Dir(f.path(old)), 0o700); err != nil {
		t.Fatal(err)
	}
	for cluster, want := range map[string]string{
		"": release.Default().Version, "unknown": release.Default().Version, "v1.99.0": release.Default().Version,
		"v1.34.1": old.Version, "v1.32.0": old.Version, "v1.35.9+k3s1": old.Version,
	} {
		if p, err := f.Nearest(t.Context(), cluster); err != nil || p.Kubernetes != want {
			t.Errorf("%q: %s, %v; want %s", cluster, p.Kubernetes, err, want)
		}
	}
}

// fakeGo is a toolchain that runs a shell script with go's arguments; $out is the program that is wanted. Every module is in the folder module.
func fakeGo(t *testing.T, module, text string) string {
	t.Helper()
	return put(t, filepath.Join(t.TempDir(), "go"), "#!/bin/sh\n[ \"$1\" != mod ] || { echo '{\"Dir\": \""+module+"\"}'; exit; }\nargs=\"$*\"\nwhile [ \"$1\" != -o ]; do shift; done\nout=$2\n"+text)
}

// What is not in the cache is built once, complete or not at all.
func TestFetch(t *testing.T) {
	s, r := minor(t, "v1.35")
	sources := t.TempDir()
	put(t, filepath.Join(sources, "kubernetes", "program"), script(t, contract.Version, r.Version))
	f := Finder{Cache: t.TempDir(), sources: sources, Go: fakeGo(t, "", "echo \"$args\" >>built; cp program $out\n")}
	f, err := f.withDefaults()
	if err != nil {
		t.Fatal(err)
	}
	for range 2 {
		p, err := f.Find(t.Context(), s)
		if err != nil || p.Path != f.path(r) || p.Kubernetes != r.Version {
			t.Fatalf("%+v, %v", p, err)
		}
	}
	built, err := os.ReadFile(filepath.Join(sources, "kubernetes", "built"))
	if err != nil || strings.Count(string(built), "\n") != 1 {
		t.Fatalf("built %q, %v", built, err)
	}
	for _, flag := range append(r.Flags(), "gitVersion="+r.Version) {
		if !strings.Contains(string(built), flag) {
			t.Errorf("go %s: without %s", built, flag)
		}
	}
	all, err := f.List()
	if err != nil {
		t.Fatal(err)
	}
	for _, l := range all {
		if in := l.Where == "cache"; in != (l.Release == r) {
			t.Errorf("%s is in %q", l.Version, l.Where)
		}
	}
	// What another build has left there is named, with the way out.
	put(t, f.path(r), script(t, contract.Version, "v1.35.0"))
	if _, err := f.Find(t.Context(), s); code(err) != CodeUnusable || !strings.Contains(err.(*coded.Error).Try, "remove v1.35") {
		t.Errorf("another release in its place: %v", err)
	}
	if removed, err := f.Remove(r); err != nil || len(removed) != 1 {
		t.Errorf("removed %v, %v", removed, err)
	}
	if left, err := os.ReadDir(f.Cache); err != nil || len(left) > 0 {
		t.Errorf("left: %v, %v", left, err)
	}
	if removed, err := f.Remove(r); err != nil || len(removed) > 0 {
		t.Errorf("removed %v again, %v", removed, err)
	}
}

// A program of other sources is not used, but stays: a sandbox may run it.
func TestFetchAfterChange(t *testing.T) {
	s, r := minor(t, "v1.35")
	sources := t.TempDir()
	put(t, filepath.Join(sources, "kubernetes", "program"), script(t, contract.Version, r.Version))
	f := Finder{Cache: t.TempDir(), sources: sources, Go: fakeGo(t, "", "cp program $out\n")}
	first, err := f.Find(t.Context(), s)
	if err != nil {
		t.Fatal(err)
	}
	put(t, filepath.Join(sources, "kubernetes", "kubelet", "run_test.go"), "package kubelet")
	if same, err := f.Find(t.Context(), s); err != nil || same.Path != first.Path {
		t.Errorf("after a change of a test: %v, %v", same, err)
	}
	put(t, filepath.Join(sources, "kubernetes", "kubelet", "run.go"), "package kubelet")
	second, err := f.Find(t.Context(), s)
	if err != nil || second.Path == first.Path {
		t.Errorf("after a change: %v, %v", second, err)
	}
	if removed, err := f.Remove(r); err != nil || len(removed) != 2 {
		t.Errorf("removed %v, %v", removed, err)
	}
}

func TestFetchFails(t *testing.T) {
	_, r := minor(t, "v1.35")
	sources := t.TempDir()
	put(t, filepath.Join(sources, "kubernetes", "go.mod"), "")
	for name, tc := range map[string]struct{ command, code, words string }{
		"no toolchain": {filepath.Join(t.TempDir(), "go"), CodeGo, "no Go toolchain"},
		"no network":   {fakeGo(t, "", "echo 'dial tcp: lookup proxy.golang.org: no such host' >&2; exit 1\n"), CodeBuild, "no such host"},
		"half built":   {fakeGo(t, "", "echo half >$out; exit 1\n"), CodeBuild, "go build"},
	} {
		f := Finder{Cache: filepath.Join(t.TempDir(), "cache"), sources: sources, Go: tc.command}
		_, err := f.Fetch(t.Context(), r)
		if code(err) != tc.code || !strings.Contains(err.Error(), tc.words) || !strings.Contains(err.Error(), r.Version) {
			t.Errorf("%s: %v", name, err)
		}
		if left, err := os.ReadDir(f.Cache); err != nil || len(left) > 0 {
			t.Errorf("%s: left %v, %v", name, left, err)
		}
	}
	over, cancel := context.WithCancel(t.Context())
	cancel()
	f := Finder{Cache: t.TempDir(), sources: sources, Go: fakeGo(t, "", "")}
	if _, err := f.Fetch(over, r); !errors.Is(err, context.Canceled) {
		t.Errorf("interrupted: %v", err)
	}
	// This test is in no bin folder of a checkout, and carries nothing.
	if _, err := (Finder{Cache: t.TempDir()}).Fetch(t.Context(), r); code(err) != CodeMissing {
		t.Errorf("no sources: %v", err)
	}
}

func TestExtract(t *testing.T) {
	archive := func(name string) []byte {
		var b bytes.Buffer
		z := gzip.NewWriter(&b)
		w := tar.NewWriter(z)
		if err := w.WriteHeader(&tar.Header{Name: name, Size: 1, Mode: 0o644}); err != nil {
			t.Fatal(err)
		}
		if _, err := w.Write([]byte("x")); err != nil {
			t.Fatal(err)
		}
		if err := errors.Join(w.Close(), z.Close()); err != nil {
			t.Fatal(err)
		}
		return b.Bytes()
	}
	dir := t.TempDir()
	if err := extract(archive("a/b/go.mod"), dir); err != nil {
		t.Fatal(err)
	}
	if b, err := os.ReadFile(filepath.Join(dir, "a", "b", "go.mod")); err != nil || string(b) != "x" {
		t.Errorf("%q, %v", b, err)
	}
	if err := extract(archive("../out"), dir); err == nil {
		t.Error("wrote outside of the folder")
	}
	if err := extract([]byte("x"), dir); err == nil {
		t.Error("no archive")
	}
}
