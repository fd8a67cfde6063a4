package known

import (
	"bytes"
	"flag"
	"os"
	"os/exec"
	"path/filepath"
	"reflect"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	_ "github.com/vmware/govmomi/cns/types"
	_ "github.com/vmware/govmomi/pbm/types"
	"github.com/vmware/govmomi/vim25/types"
	_ "github.com/vmware/govmomi/vslm/types"
)

var update = flag.Bool("update", false, "read the lists off govmomi's source again")

// source returns the Go files of some of govmomi's packages, each package as one text.
func source(t *testing.T, packages ...string) map[string]string {
	t.Helper()
	dir, err := exec.CommandContext(t.Context(), "go", "list", "-m", "-f", "{{.Dir}}", "github.com/vmware/govmomi").Output()
	if err != nil {
		t.Fatal(err)
	}
	texts := make(map[string]string)
	for _, p := range packages {
		files, err := filepath.Glob(filepath.Join(string(bytes.TrimSpace(dir)), p, "*.go"))
		if err != nil || len(files) == 0 {
			t.Fatalf("%s: %d files, %v", p, len(files), err)
		}
		for _, f := range files {
			text, err := os.ReadFile(f)
			if err != nil {
				t.Fatal(err)
			}
			texts[p] += string(text)
		}
	}
	return texts
}

func check(t *testing.T, file, have string, want []string) {
	t.Helper()
	slices.Sort(want)
	want = slices.Compact(want)
	if *update {
		if err := os.WriteFile(file, []byte(strings.Join(want, "\n")+"\n"), 0o644); err != nil {
			t.Fatal(err)
		}
		return
	}
	if diff := cmp.Diff(want, strings.Split(strings.TrimSpace(have), "\n")); diff != "" {
		t.Errorf("%s is not what govmomi has; run with -update: -want +got:\n%s", file, diff)
	}
}

func TestMethods(t *testing.T) {
	signature := regexp.MustCompile(`(?m)^func (\w+)\(ctx context\.Context, r soap\.RoundTripper`)
	answer := regexp.MustCompile(`(?m)^type (Cns\w+)Response struct \{\s*Returnval\s+\w+\.ManagedObjectReference`)
	texts := source(t, "vim25/methods", "pbm/methods", "cns/methods", "cns/types", "vslm/methods")
	tasks := make(map[string]bool)
	for _, m := range answer.FindAllStringSubmatch(texts["cns/types"], -1) {
		tasks[m[1]] = true
	}
	var names []string
	for _, text := range texts {
		for _, m := range signature.FindAllStringSubmatch(text, -1) {
			name := m[1]
			if tasks[name] {
				name += taskMark
			}
			names = append(names, name)
		}
	}
	check(t, "methods.txt", methods, names)
}

func TestFaults(t *testing.T) {
	added := regexp.MustCompile(`(?m)^\s*(?:types\.Add\(|t\[)"([\w:]+)"`)
	fault := reflect.TypeFor[types.BaseMethodFault]()
	var names []string
	for _, text := range source(t, "vim25/types", "pbm/types", "cns/types", "vslm/types") {
		for _, m := range added.FindAllStringSubmatch(text, -1) {
			if typ, ok := types.TypeFunc()(m[1]); ok && typ.Kind() == reflect.Struct && reflect.PointerTo(typ).Implements(fault) {
				names = append(names, m[1])
			}
		}
	}
	// XFault is the name of the element that holds an X, and registered beside it.
	all := slices.Clone(names)
	names = slices.DeleteFunc(names, func(name string) bool {
		kind, ok := strings.CutSuffix(name, "Fault")
		return ok && slices.Contains(all, kind)
	})
	check(t, "faults.txt", faults, names)
}

func TestObjects(t *testing.T) {
	kind := regexp.MustCompile(`(?m)= ManagedObjectType\("(\w+)"\)`)
	object := regexp.MustCompile(`(?m)^\s*t\["(\w+)"\]`)
	names := []string{
		"CnsVolumeManager", "PbmCapabilityMetadataManager", "PbmComplianceManager", "PbmPlacementSolver",
		"PbmProfileProfileManager", "PbmServiceInstance", "PbmSessionManager", "VslmServiceInstance", "VslmSessionManager",
		"VslmStorageLifecycleManager", "VslmVStorageObjectManager",
	}
	texts := source(t, "vim25/types", "vim25/mo")
	for _, m := range kind.FindAllStringSubmatch(texts["vim25/types"], -1) {
		names = append(names, m[1])
	}
	for _, m := range object.FindAllStringSubmatch(texts["vim25/mo"], -1) {
		names = append(names, m[1])
	}
	check(t, "objects.txt", objects, names)
}

func TestTasks(t *testing.T) {
	for name, want := range map[string]bool{"CnsCreateVolume": true, "CnsQueryVolume": false, "Login": false, "PowerOnVM_Task": false} {
		if got := slices.Contains(Tasks(), name); got != want {
			t.Errorf("%s: %t", name, got)
		}
	}
	if got := Tasks(); !slices.IsSorted(got) {
		t.Errorf("%q is not sorted", got)
	}
}

func TestOperations(t *testing.T) {
	for _, op := range Operations() {
		verb, path, ok := strings.Cut(op, " ")
		if !ok || strings.ToUpper(verb) != verb || !strings.HasPrefix(path, "/") {
			t.Errorf("%q is not a verb and a path", op)
		}
	}
	if got := Operations(); !slices.IsSorted(got) || len(slices.Compact(slices.Clone(got))) != len(got) {
		t.Error("the operations are not sorted, or one is there twice")
	}
}
