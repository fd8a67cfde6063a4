package guard_test

import (
	"flag"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"os"
	"os/exec"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/vcenter/guard"
)

var update = flag.Bool("update", false, "rewrite testdata/methods.txt")

// places are where the methods of a namespace belong.
func places() map[string]string {
	return map[string]string{
		"urn:vim25": "/sdk", "urn:pbm": "/pbm", "urn:internalpbm": "/pbm", "urn:vsan": "/vsanHealth", "urn:vslm": "/vslm/sdk",
		"urn:lookup": "/lookupservice/sdk", "urn:sso": "/sso-adminserver/sdk/vsphere.local",
		// These have no service here.
		"urn:sms": "/sms/sdk", "urn:eam": "/eam/sdk",
	}
}

// method is a method that govmomi has.
type method struct{ space, name string }

// govmomis reads govmomi's method tables: the XML tags of its requests.
func govmomis(t *testing.T) []method {
	t.Helper()
	dir, err := exec.CommandContext(t.Context(), "go", "list", "-m", "-f", "{{.Dir}}", "github.com/vmware/govmomi").Output()
	if err != nil {
		t.Fatal(err)
	}
	files, err := filepath.Glob(filepath.Join(strings.TrimSpace(string(dir)), "*", "methods", "*.go"))
	if err != nil || len(files) < 9 {
		t.Fatalf("%v, %v", files, err)
	}
	found := map[method]bool{}
	for _, file := range files {
		tree, err := parser.ParseFile(token.NewFileSet(), file, nil, parser.SkipObjectResolution)
		if err != nil {
			t.Fatal(err)
		}
		ast.Inspect(tree, func(n ast.Node) bool {
			field, ok := n.(*ast.Field)
			if !ok || field.Tag == nil || len(field.Names) != 1 || field.Names[0].Name != "Req" {
				return true
			}
			tag := reflect.StructTag(strings.Trim(field.Tag.Value, "`")).Get("xml")
			space, name, ok := strings.Cut(strings.TrimSuffix(tag, ",omitempty"), " ")
			if !ok {
				t.Errorf("%s: a request with the tag %q", file, tag)
			}
			found[method{space, name}] = true
			return true
		})
	}
	all := make([]method, 0, len(found))
	for m := range found {
		all = append(all, m)
	}
	slices.SortFunc(all, func(a, b method) int { return strings.Compare(a.space+" "+a.name, b.space+" "+b.name) })
	return all
}

// body is the smallest call of a method that is complete.
func (m method) body() string {
	object := this
	switch m.name {
	case "Rename_Task":
		object += "<newName>n</newName>"
	case "CnsAttachVolume":
		object += `<attachSpecs><volumeId><id>v</id></volumeId><vm type="VirtualMachine">vm-1</vm></attachSpecs>`
	case "CnsDetachVolume":
		object += `<detachSpecs><volumeId><id>v</id></volumeId><vm type="VirtualMachine">vm-1</vm></detachSpecs>`
	}
	return soap(fmt.Sprintf(`<%s xmlns="%s">%s</%s>`, m.name, m.space, object, m.name))
}

// TestEveryMethod holds the guard's lists against all methods that govmomi has: testdata/methods.txt says of each whether it
// reads, writes with a way back, or is refused. A govmomi with a new method fails this test until its verdict is there.
func TestEveryMethod(t *testing.T) {
	all := govmomis(t)
	if len(all) < 1300 {
		t.Fatalf("govmomi has %d methods", len(all))
	}
	const file = "testdata/methods.txt"
	var got strings.Builder
	counts := map[string]int{}
	for _, m := range all {
		p, ok := places()[m.space]
		if !ok {
			t.Errorf("%s is in a namespace that no service has", m)
		}
		in, err := look("POST", p, m.body())
		verdict := "refused"
		switch k := kind(in, err); k {
		case "read":
			verdict = "reads"
		case "write", "unknown":
		default:
			verdict = "undo " + k
		}
		counts[strings.Fields(verdict)[0]]++
		fmt.Fprintln(&got, m.space, m.name, verdict)
	}
	t.Logf("%d methods: %v", len(all), counts)
	if *update {
		if err := os.WriteFile(file, []byte(got.String()), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(strings.Split(string(want), "\n"), strings.Split(got.String(), "\n")); diff != "" {
		t.Errorf("%s: a method is new, or decided otherwise; decide, then -update, and read the diff: %s", file, diff)
	}
}

// TestNoMethodElsewhere calls every method where it does not belong: at each other service, at a path that is none, as JSON,
// behind a header that names another one, and beside another one.
func TestNoMethodElsewhere(t *testing.T) {
	elsewhere := []string{"/sdk/x", "/folder/x.xml?dcPath=dc&dsName=ds", "/", "/mob", "/sdk/vim25/8.0.3.0/PropertyCollector/pc/x", "/guestFile", "/nfc/x/disk-0.vmdk"}
	current := method{"urn:vim25", "CurrentTime"}
	for _, m := range govmomis(t) {
		own := places()[m.space]
		for _, p := range elsewhere {
			if in, err := look("POST", p, m.body()); err == nil {
				t.Errorf("%s at %s: %+v", m, p, in)
			}
		}
		for space, p := range places() {
			if in, err := look("POST", p, m.body()); err == nil && p != own && (p != "/vsanHealth" || m.space != "urn:vim25" || !in.Write && !strings.HasPrefix(m.name, "RetrieveProperties")) {
				t.Errorf("%s at %s of %s: %+v", m, p, space, in)
			}
		}
		if in, err := guard.ParseIntent(request("POST", own, "{}"), []byte("{}")); err == nil {
			t.Errorf("%s as JSON: %+v", m, in)
		}
		two := strings.Replace(current.body(), "</Body>", m.body()[strings.Index(m.body(), "<Body>")+len("<Body>"):], 1)
		if in, err := look("POST", "/sdk", strings.Replace(two, "</Envelope></Envelope>", "</Envelope>", 1)); err == nil {
			t.Errorf("%s beside another: %+v", m, in)
		}
		// The header is not believed.
		r := request("POST", "/sdk", current.body())
		r.Header.Set("SOAPAction", m.space+"/"+m.name)
		if in, err := guard.ParseIntent(r, []byte(current.body())); err == nil && in.Operation != "CurrentTime" {
			t.Errorf("%s in the header: %+v", m, in)
		}
	}
}
