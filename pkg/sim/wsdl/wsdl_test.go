package wsdl

import (
	"bytes"
	"encoding/xml"
	"errors"
	"flag"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"reflect"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/vmware/govmomi/vim25/types"

	"github.com/vsphere-sandbox/vsphere-sandbox/internal/race"
)

var update = flag.Bool("update", false, "rewrite names.txt")

// sourceOf returns a file of govmomi's package vim25.
func sourceOf(t *testing.T, file string) []byte {
	t.Helper()
	dir, err := exec.CommandContext(t.Context(), "go", "list", "-m", "-f", "{{.Dir}}", "github.com/vmware/govmomi").Output()
	if err != nil {
		t.Fatal(err)
	}
	source, err := os.ReadFile(filepath.Join(string(bytes.TrimSpace(dir)), "vim25", file))
	if err != nil {
		t.Fatal(err)
	}
	return source
}

// govmomis returns the names in govmomi's registry of types, and the results of its methods in the form of names.txt.
func govmomis(t *testing.T) (all []string, results map[string]string) {
	t.Helper()
	results = make(map[string]string)
	for _, file := range []string{"types/types.go", "types/enum.go"} {
		source := sourceOf(t, file)
		for _, m := range regexp.MustCompile(`(?m)^\tt\["(?:vim25:)?([A-Za-z0-9_]+)"\]`).FindAllSubmatch(source, -1) {
			all = append(all, string(m[1]))
		}
		for _, m := range regexp.MustCompile(`(?m)^type (\w+)Response struct \{\n\tReturnval +(\S+) +.xml:"returnval([^"]*)"`).FindAllSubmatch(source, -1) {
			typ, list := strings.CutPrefix(string(m[2]), "[]")
			typ = strings.TrimPrefix(strings.TrimPrefix(typ, "*"), "Base")
			if xsd, ok := map[string]string{
				"bool": "boolean", "int32": "int", "int64": "long", "string": "string", "time.Time": "dateTime", "AnyType": "anyType", "byte": "base64Binary",
			}[typ]; ok {
				typ, list = "xsd:"+xsd, list && typ != "byte"
			}
			switch {
			case list:
				typ += "*"
			case string(m[3]) != "":
				typ += "?"
			}
			results[string(m[1])] = typ
		}
	}
	slices.Sort(all)
	return slices.Compact(all), results
}

// TestNames compares names.txt with govmomi's source: it has all methods, then the types that nothing refers to.
func TestNames(t *testing.T) {
	race.SkipSlow(t)
	all, results := govmomis(t)
	m := &model{byName: types.TypeFunc(), types: make(map[string]reflect.Type), results: make(map[string]string)}
	var want []string
	for _, name := range all {
		if _, ok := m.byName(requestOf(name)); ok && !strings.HasSuffix(name, requestSuffix) {
			line := strings.TrimSpace(name + " " + results[name])
			want = append(want, line)
			m.add(line)
		}
	}
	implied := func(name string) bool {
		if of, ok := strings.CutSuffix(name, "Fault"); ok && slices.Contains(all, of) {
			// "type XFault X" is an element; a type with additional fields is not.
			typ, _ := m.byName(name)
			base, _ := m.byName(of)
			return typ.Kind() == reflect.Struct && typ.ConvertibleTo(base)
		}
		return strings.HasPrefix(name, arrayPrefix) || slices.Contains(m.methods, name)
	}
	for _, name := range all {
		if !implied(name) && m.types[name] == nil {
			want = append(want, name)
			m.add(name)
		}
	}
	text := strings.Join(want, "\n") + "\n"
	if *update {
		if err := os.WriteFile("names.txt", []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	} else if diff := cmp.Diff(text, names); diff != "" {
		t.Errorf("names.txt is not govmomi's; run go test -update (-govmomi +names.txt):\n%s", diff)
	}
	for _, name := range all {
		if !implied(name) && m.types[name] == nil {
			t.Errorf("%s is not described", name)
		}
	}
}

// TestWords compares managed.txt with govmomi's source, and looks for words of each kind.
func TestWords(t *testing.T) {
	var all []string
	for _, m := range regexp.MustCompile(`(?m)^\tt\["(\w+)"\]|`+"`json:\"(\\w+)").FindAllSubmatch(sourceOf(t, "mo/mo.go"), -1) {
		all = append(all, string(m[1])+string(m[2]))
	}
	slices.Sort(all)
	text := strings.Join(slices.Compact(all), "\n") + "\n"
	if *update {
		if err := os.WriteFile("managed.txt", []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	} else if diff := cmp.Diff(text, managed); diff != "" {
		t.Errorf("managed.txt is not govmomi's; run go test -update (-govmomi +managed.txt):\n%s", diff)
	}
	words := Words()
	for _, want := range []string{"PowerOnVM_Task", "VirtualMachineConfigSpec", "annotation", "poweredOn", "PropertyCollector", "availableField"} {
		if !words[want] {
			t.Errorf("%s is no word", want)
		}
	}
	if words["acme"] || words[""] {
		t.Error("everything is a word")
	}
}

// TestDocuments reads each document: it is XML, refers to nothing that it does not define, and defines nothing twice.
func TestDocuments(t *testing.T) {
	defined, referred := map[string]bool{}, map[string]bool{}
	for _, path := range Paths() {
		w := httptest.NewRecorder()
		Handler().ServeHTTP(w, httptest.NewRequestWithContext(t.Context(), http.MethodGet, "https://vc:8989"+path, nil))
		if w.Code != http.StatusOK {
			t.Fatalf("%s: %d", path, w.Code)
		}
		if path == Paths()[0] && !strings.Contains(w.Body.String(), `location="https://vc:8989/sdk"`) {
			t.Errorf("%s has no address of the vCenter: %s", path, w.Body)
		}
		decoder := xml.NewDecoder(w.Body)
		for {
			token, err := decoder.Token()
			if errors.Is(err, io.EOF) {
				break
			}
			if err != nil {
				t.Fatalf("%s: %v", path, err)
			}
			start, ok := token.(xml.StartElement)
			if !ok {
				continue
			}
			for _, a := range start.Attr {
				switch kind := start.Name.Local; {
				case a.Name.Local == "name" && slices.Contains([]string{"complexType", "simpleType"}, kind):
					if defined[a.Value] {
						t.Errorf("%s is defined twice", a.Value)
					}
					defined[a.Value] = true
				case strings.HasPrefix(a.Value, "vim25:") && (a.Name.Local == "base" || a.Name.Local == "type" && kind == "element"):
					referred[strings.TrimPrefix(a.Value, "vim25:")] = true
				}
			}
		}
	}
	if want := `<xsd:element name="PowerOnVM_Task" type="vim25:PowerOnVMRequestType"/>`; !strings.Contains(string(documents().service), want) {
		t.Errorf("no %s", want)
	}
	if len(defined) < 4000 {
		t.Errorf("%d types are defined", len(defined))
	}
	for name := range referred {
		if !defined[name] {
			t.Errorf("%s is not defined", name)
		}
	}
}

func TestOther(t *testing.T) {
	for _, tc := range []struct {
		method, path string
		want         int
	}{{http.MethodPost, Paths()[0], http.StatusMethodNotAllowed}, {http.MethodGet, "/sdk/other.wsdl", http.StatusNotFound}} {
		w := httptest.NewRecorder()
		Handler().ServeHTTP(w, httptest.NewRequestWithContext(t.Context(), tc.method, tc.path, nil))
		if w.Code != tc.want {
			t.Errorf("%s %s: %d, want %d", tc.method, tc.path, w.Code, tc.want)
		}
	}
}
