package program

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"github.com/vsphere-sandbox/vsphere-sandbox/internal/coded"
	"github.com/vsphere-sandbox/vsphere-sandbox/internal/upstream/upstreamtest"
)

func TestModule(t *testing.T) {
	source := t.TempDir()
	if err := os.WriteFile(filepath.Join(source, "main.go"), native(t), 0o444); err != nil {
		t.Fatal(err)
	}
	answer := func(sum string) string {
		return fmt.Sprintf(`case "$1 $2" in
"mod download") echo '{"Dir": %q, "Sum": %q}';;
"build "*) while [ "$1" != "-o" ]; do shift; done; cp main.go "$2" && chmod +x "$2" && echo more >>main.go;;
*) exit 9;;
esac`, source, sum)
	}
	o := options(t)
	o.Go = upstreamtest.Go(t, answer("h1:x"))
	p, err := resolve(t, o, "module:v1.2.3")
	if err != nil {
		t.Fatal(err)
	}
	want := filepath.Join(o.Cache, "upstream", "v1.2.3", "linux-amd64", CCM.File())
	if p.Path != want || p.Version != "v1.2.3" || p.Source != "module:v1.2.3" || p.Digest == "" {
		t.Errorf("%+v", p)
	}
	requireContent(t, o, p.Path, native(t))
	o.Go = filepath.Join(t.TempDir(), "none") // what is there needs no toolchain
	if again, err := resolve(t, o, "module:v1.2.3"); err != nil || again != p {
		t.Errorf("%+v, %v, want %+v", again, err, p)
	}
	_, err = resolve(t, o, "module:v1.2.4")
	_ = upstreamtest.WantError(t, err, "go-missing", "there is no Go toolchain")

	o.Go = upstreamtest.Go(t, answer("h1:x"))
	_, err = resolve(t, o, "module:v1.36.0")
	_ = upstreamtest.WantError(t, err, "ccm-build-failed", "this is not what was released")
	if left, err := filepath.Glob(filepath.Join(o.Cache, "upstream", "*", "*", "*")); err != nil || !slices.Equal(left, []string{want}) {
		t.Errorf("in the cache: %v, %v", left, err)
	}
}

func TestModuleThatCannotBeBuilt(t *testing.T) {
	for _, tc := range []struct{ name, script, code, words, try string }{
		{
			"unknown version", `case "$1 $2" in
"mod download") echo '{"Error": "k8s.io/cloud-provider-vsphere@v1.36.9: invalid version: unknown revision v1.36.9"}'; exit 1;;
"list -m") echo k8s.io/cloud-provider-vsphere v1.34.0 v1.35.0 v1.36.0-beta.0 v1.36.0;;
esac`, "ccm-version-unknown", "there is no such version", "module:v1.36.0-beta.0, module:v1.36.0",
		},
		{"no proxy", `echo '{"Error": "dial tcp: lookup proxy.example: no such host"}'; exit 1`, "ccm-build-failed", "no such host", ""},
		{"no words", `echo oh dear >&2; exit 1`, "ccm-build-failed", "oh dear", ""},
		{
			"compiler", fmt.Sprintf(`case "$1" in mod) echo '{"Dir": %q}';; build) echo "main.go:1: no" >&2; exit 1;; esac`, t.TempDir()),
			"ccm-build-failed", "main.go:1: no", "",
		},
	} {
		t.Run(tc.name, func(t *testing.T) {
			o := options(t)
			o.Go = upstreamtest.Go(t, tc.script)
			_, err := resolve(t, o, "module:v1.36.9")
			_ = upstreamtest.WantError(t, err, tc.code, tc.words, "module:v1.36.9")
			if try := err.(*coded.Error).Try; try != tc.try {
				t.Errorf("try %q, want %q", try, tc.try)
			}
		})
	}
}

// What does not exist is found out without a download, and what is built needs no question.
func TestFindModule(t *testing.T) {
	const unknown = `go: k8s.io/cloud-provider-vsphere@v1.36.9: reading https://proxy/v1.36.9.info: 403 Forbidden, This module version is not available.`
	for _, tc := range []struct{ name, script, code, try string }{
		{"exists", `test "$1 $2" = "list -m"`, "", ""},
		{"does not", `case "$3" in -versions) echo x v1.34.0 v1.36.0;; *) echo "` + unknown + `" >&2; exit 1;; esac`, "ccm-version-unknown", "module:v1.36.0"},
		{"does not, and there is no list", `echo "` + unknown + `" >&2; exit 1`, "ccm-version-unknown", "module:v1.36.0"},
		{
			"not to be verified", `echo "go: k8s.io/cloud-provider-vsphere@v1.36.9: verifying go.mod: reading https://proxy/sumdb/db/lookup/x: 404 Not Found" >&2; exit 1`,
			"ccm-build-failed", "again; or GONOSUMDB=k8s.io/cloud-provider-vsphere in the environment, if you trust what the module proxy gives",
		},
		{"no network", `echo "dial tcp: lookup proxy: no such host" >&2; exit 1`, "ccm-build-failed", ""},
	} {
		t.Run(tc.name, func(t *testing.T) {
			o := options(t)
			o.Go = upstreamtest.Go(t, tc.script)
			source, err := Parse("module:v1.36.9")
			if err != nil {
				t.Fatal(err)
			}
			err = source.Find(t.Context(), o)
			if tc.code == "" {
				if err != nil {
					t.Error(err)
				}
				return
			}
			_ = upstreamtest.WantError(t, err, tc.code, "", "module:v1.36.9")
			if try := err.(*coded.Error).Try; try != tc.try {
				t.Errorf("try %q, want %q", try, tc.try)
			}
		})
	}
}
