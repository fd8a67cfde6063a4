package release

import (
	"os"
	"regexp"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// Every release has a module file, which builds what the table says.
func TestModFiles(t *testing.T) {
	minors := map[int]bool{}
	for _, r := range All() {
		text, err := os.ReadFile("../../../kubernetes/" + r.ModFile())
		if err != nil {
			t.Fatal(err)
		}
		for module, want := range map[string]string{"k8s.io/kubernetes": r.Version, "go.etcd.io/etcd/server/v3": r.Etcd} {
			if got := chosen(string(text), module); got != want {
				t.Errorf("%s: %s is %q, the table says %s", r.ModFile(), module, got, want)
			}
		}
		if minors[r.Minor] {
			t.Errorf("two releases of %s", r.Name())
		}
		minors[r.Minor] = true
	}
	if !minors[Default().Minor] {
		t.Error("no default release")
	}
}

// chosen returns the version of a module: of what replaces it, if something does.
func chosen(gomod, module string) string {
	quoted := regexp.QuoteMeta(module)
	for _, pattern := range []string{`(?m)^\t` + quoted + ` => \S+ (v\S+)`, `(?m)^\t` + quoted + ` (v\S+)`} {
		if m := regexp.MustCompile(pattern).FindStringSubmatch(gomod); m != nil {
			return m[1]
		}
	}
	return ""
}

func TestFind(t *testing.T) {
	d := Default()
	for _, name := range []string{d.Name(), d.Name()[1:], d.Version, d.Version[1:]} {
		if r, ok := Find(name); !ok || r != d {
			t.Errorf("%s: %v, %t", name, r, ok)
		}
	}
	for name, looks := range map[string]bool{"": false, "v1": false, "v1.1": true, "1.36.99": true, "builtin": false, "v1.36.x": false} {
		if _, ok := Find(name); ok {
			t.Errorf("%q: found", name)
		}
		if Looks(name) != looks {
			t.Errorf("%q: looks like a version: %t", name, !looks)
		}
	}
}

func TestFlags(t *testing.T) {
	r, ok := Find("v1.35")
	if !ok {
		t.Fatal("no v1.35")
	}
	want := []string{"-modfile=v1.35.mod", "-tags=before_v1_36,before_v1_37"}
	if diff := cmp.Diff(want, r.Flags()); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	if newest := All()[0]; len(newest.Tags()) > 0 {
		t.Errorf("%s is before %v", newest.Name(), newest.Tags())
	}
}
