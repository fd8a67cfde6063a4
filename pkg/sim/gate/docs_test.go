package gate_test

import (
	"os"
	"reflect"
	"regexp"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/sim/gate"
)

// What docs/gate.md shows can be used, and it names every field and every action.
func TestPage(t *testing.T) {
	data, err := os.ReadFile("../../../docs/gate.md")
	if err != nil {
		t.Fatal(err)
	}
	page := string(data)
	blocks := regexp.MustCompile("(?s)```yaml\n(.*?)```").FindAllStringSubmatch(page, -1)
	if len(blocks) == 0 {
		t.Error("no rules on the page")
	}
	for _, b := range blocks {
		if _, err := gate.ParseRules("gate.md", []byte(b[1])); err != nil {
			t.Error(err)
		}
	}
	refusals := regexp.MustCompile("(?s)```text\n(.*?)\n```").FindStringSubmatch(page)
	if refusals == nil {
		t.Fatal("no refusals on the page")
	}
	_, err = gate.ParseRules("rules.yaml", []byte(`- name: x
  match:
    clinet: vsphere-csi
    methods: [CnsAtachVolume]
  action:
    fault:
      type: NoPermision
`))
	if diff := cmp.Diff(refusals[1], err.Error()); diff != "" {
		t.Errorf("the page's refusals: -want +got:\n%s", diff)
	}
	var names []string
	for _, v := range []any{
		gate.Rule{},
		gate.Match{},
		gate.Object{},
		gate.Window{},
		gate.Latency{},
		gate.HTTPStatus{},
		gate.Reset{},
		gate.Fault{},
		gate.RESTError{},
		gate.FailTask{},
		gate.Throttle{},
		gate.DropSession{},
	} {
		for _, f := range reflect.VisibleFields(reflect.TypeOf(v)) {
			name, _, _ := strings.Cut(f.Tag.Get("json"), ",")
			names = append(names, name)
		}
	}
	for _, a := range gate.Actions() {
		names = append(names, a)
	}
	for _, name := range names {
		if !regexp.MustCompile("`(?:[a-z]+\\.)?"+name+"`").MatchString(page) && name != "window" && name != "object" {
			t.Errorf("%s is not on the page", name)
		}
	}
}
