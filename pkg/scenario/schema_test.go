package scenario_test

import (
	"flag"
	"os"
	"regexp"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/vsphere-sandbox/vsphere-sandbox/internal/race"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/scenario"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/sim/fault/catalogue"
)

var update = flag.Bool("update", false, "rewrite golden files")

// TestSchema: review the schema when it changes; -update rewrites it. The catalogue of faults checks its own list.
func TestSchema(t *testing.T) {
	race.SkipSlow(t)
	got := scenario.Schema()
	for _, name := range catalogue.Names() {
		got = regexp.MustCompile(`(?m)^ *"`+regexp.QuoteMeta(name)+`",?\n`).ReplaceAll(got, nil)
	}
	const golden = "testdata/schema.json"
	if *update {
		if err := os.WriteFile(golden, got, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(golden)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(string(want), string(got)); diff != "" {
		t.Errorf("go test ./pkg/scenario -run Schema -update rewrites it (-want +got):\n%s", diff)
	}
}
