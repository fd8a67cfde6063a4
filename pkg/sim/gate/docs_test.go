package gate_test

import (
	"os"
	"reflect"
	"regexp"
	"strings"
	"testing"

	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/sim/gate"
)

// docs/gate.md names every field, as messages do, and every action.
func TestPage(t *testing.T) {
	data, err := os.ReadFile("../../../docs/gate.md")
	if err != nil {
		t.Fatal(err)
	}
	page := string(data)
	var names []string
	have := []any{gate.Rule{}, gate.Match{}, gate.Object{}, gate.Window{}}
	for name, a := range gate.Actions() {
		names = append(names, name)
		have = append(have, a)
	}
	for _, v := range have {
		for _, f := range reflect.VisibleFields(reflect.TypeOf(v)) {
			names = append(names, strings.ToLower(f.Name))
		}
	}
	for _, name := range names {
		if !regexp.MustCompile("`(?:[a-z]+\\.)?"+name+"`").MatchString(page) && name != "window" && name != "object" {
			t.Errorf("%s is not on the page", name)
		}
	}
}
