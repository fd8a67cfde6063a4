package upstream_test

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/vsphere-sandbox/vsphere-sandbox/internal/coded"
	"github.com/vsphere-sandbox/vsphere-sandbox/internal/upstream"
	"github.com/vsphere-sandbox/vsphere-sandbox/internal/upstream/upstreamtest"
)

// fakeGo returns a toolchain that runs a shell script with go's arguments.
func fakeGo(t *testing.T, script string) upstream.Toolchain {
	t.Helper()
	return upstream.Toolchain{Go: upstreamtest.Go(t, script), OS: "linux", Arch: "amd64"}
}

func TestBuild(t *testing.T) {
	source := t.TempDir()
	if err := os.WriteFile(filepath.Join(source, "main.go"), []byte("main"), 0o444); err != nil {
		t.Fatal(err)
	}
	tool := fakeGo(t, fmt.Sprintf(`case "$1 $2" in
"mod download") echo '{"Dir": %q, "Sum": "h1:x"}';;
"build "*) echo "$CGO_ENABLED $GOEXPERIMENT $GOOS $GOARCH $GOFLAGS" >env; while [ "$1" != "-o" ]; do shift; done; cat main.go env >"$2"; echo "$3" >>"$2"; echo more >>main.go;;
*) exit 9;;
esac`, source))
	var said []string
	tool.Progress = func(format string, args ...any) { said = append(said, fmt.Sprintf(format, args...)) }
	dir := filepath.Join(t.TempDir(), "a", "b")
	m := upstream.Module{Path: "example.com/m", Version: "v1.2.3", Sum: "h1:x"}
	err := tool.Build(t.Context(), m,
		upstream.Program{Package: "./cmd/one", Path: filepath.Join(dir, "one")},
		upstream.Program{Package: "./cmd/two", Path: filepath.Join(dir, "two"), Env: []string{"CGO_ENABLED=1", "GOEXPERIMENT=boringcrypto"}},
	)
	if err != nil {
		t.Fatal(err)
	}
	got := map[string]string{}
	for _, name := range []string{"one", "two"} {
		b, err := os.ReadFile(filepath.Join(dir, name))
		if err != nil {
			t.Fatal(err)
		}
		got[name] = string(b)
	}
	want := map[string]string{
		"one": "main0  linux amd64 \n./cmd/one\n", "two": "mainmore\n1 boringcrypto linux amd64 \n./cmd/two\n",
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("built (-want +got):\n%s", diff)
	}
	if len(said) != 3 || !strings.Contains(said[0], "example.com/m@v1.2.3") {
		t.Errorf("said %q", said)
	}
	if b, err := os.ReadFile(filepath.Join(source, "main.go")); err != nil || string(b) != "main" {
		t.Errorf("the module itself is %q, %v", b, err)
	}
	if left, err := os.ReadDir(dir); err != nil || len(left) != 2 {
		t.Errorf("left: %v, %v", left, err)
	}
}

func TestBuildFails(t *testing.T) {
	for _, tc := range []struct {
		name, script string
		kind         string
		words        string
	}{
		{"other checksum", fmt.Sprintf(`echo '{"Dir": %q, "Sum": "h1:y"}'`, t.TempDir()), upstream.BuildFailed, "this is not what was released"},
		{"unknown version", `echo '{"Error": "invalid version: unknown revision v1"}'; exit 1`, upstream.VersionUnknown, "no such version of example.com/m"},
		{"not to be verified", `echo '{"Error": "example.com/m@v1: verifying go.mod: reading https://proxy/sumdb/db/lookup/example.com/m@v1: 404 Not Found"}'; exit 1`, upstream.Unverified, "the checksum database has no answer"},
		{"no proxy", `echo '{"Error": "no such host"}'; exit 1`, upstream.BuildFailed, "no such host"},
		{"no words", `echo oh dear >&2; exit 1`, upstream.BuildFailed, "oh dear"},
		{
			"compiler", fmt.Sprintf(`case "$1" in mod) echo '{"Dir": %q, "Sum": "h1:x"}';; build) echo "main.go:1: no" >&2; exit 1;; esac`, t.TempDir()),
			upstream.BuildFailed, "main.go:1: no",
		},
	} {
		t.Run(tc.name, func(t *testing.T) {
			path := filepath.Join(t.TempDir(), "p")
			err := fakeGo(t, tc.script).Build(t.Context(), upstream.Module{Path: "example.com/m", Version: "v1", Sum: "h1:x"}, upstream.Program{Package: ".", Path: path})
			var e *coded.Error
			if !errors.As(err, &e) || e.Code != tc.kind || !strings.Contains(e.Error(), tc.words) {
				t.Errorf("%v, want %s: %s", err, tc.kind, tc.words)
			}
			if _, err := os.Stat(path); !errors.Is(err, os.ErrNotExist) {
				t.Errorf("there is something: %v", err)
			}
		})
	}
	err := upstream.Toolchain{Go: filepath.Join(t.TempDir(), "none")}.Build(t.Context(), upstream.Module{})
	var e *coded.Error
	if !errors.As(err, &e) || e.Code != upstream.GoMissing {
		t.Errorf("without a toolchain: %v", err)
	}
}

func TestVersions(t *testing.T) {
	if got := fakeGo(t, `echo "$4 v1.0.0 v1.1.0"`).Versions(t.Context(), "example.com/m"); !slices.Equal(got, []string{"v1.0.0", "v1.1.0"}) {
		t.Errorf("versions %v", got)
	}
	for _, script := range []string{"exit 1", "echo", "echo example.com/m"} {
		if got := fakeGo(t, script).Versions(t.Context(), "example.com/m"); len(got) > 0 {
			t.Errorf("%s: versions %v", script, got)
		}
	}
}
