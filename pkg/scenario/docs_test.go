package scenario_test

import (
	"os"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/sandbox/api/world"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/scenario"
)

// What docs/scenarios.md shows can be loaded: whole scenarios as they are, lists of steps on a topology that has what they
// name.
func TestPage(t *testing.T) {
	text, err := os.ReadFile("../../docs/scenarios.md")
	if err != nil {
		t.Fatal(err)
	}
	blocks := strings.Split(string(text), "```yaml\n")[1:]
	if len(blocks) < 5 {
		t.Fatalf("the page shows %d blocks", len(blocks))
	}
	for _, block := range blocks {
		block, _, _ = strings.Cut(block, "```")
		if !strings.HasPrefix(block, "apiVersion") {
			block = pageHeader + block
		}
		if _, err := scenario.Load("scenarios.md", []byte(block)); err != nil {
			t.Errorf("%v\n%s", err, block)
		}
	}
}

// The table of fields is printed from package world.
func TestPageFields(t *testing.T) {
	const file, begin, end = "../../docs/scenarios.md", "<!-- begin generated: fields -->\n", "<!-- end generated: fields -->"
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	before, rest, _ := strings.Cut(string(text), begin)
	_, after, found := strings.Cut(rest, end)
	if !found {
		t.Fatal("the page has no place for the fields")
	}
	var b strings.Builder
	b.WriteString("| of | fields |\n|---|---|\n")
	for _, kind := range world.Kinds() {
		var names []string
		for _, f := range kind.Fields() {
			names = append(names, "`"+f.Name+"`")
		}
		b.WriteString("| `" + string(kind) + "` | " + strings.Join(names, " ") + " |\n")
	}
	want := before + begin + b.String() + end + after
	if *update {
		if err := os.WriteFile(file, []byte(want), 0o644); err != nil {
			t.Fatal(err)
		}
	} else if diff := cmp.Diff(want, string(text)); diff != "" {
		t.Errorf("go test ./pkg/scenario -run Page -update writes it anew (-want +got):\n%s", diff)
	}
}

const pageHeader = `apiVersion: sandbox.vsphere/v1alpha1
kind: Scenario
metadata: {name: page}
topology:
  spec:
    vcenters:
      - name: us
        datacenters:
          - {name: dc, zone: us-east, hosts: [{name: esx-1}], vms: [{name: worker-1, role: worker}, {name: worker-9, role: worker}]}
      - name: eu
        datacenters:
          - {name: dc, hosts: [{name: esx-eu-1}], vms: [{name: worker-eu-1, role: worker}]}
steps:
- {inject: vcenter.down, on: {vcenter: us}, as: outage}
`
