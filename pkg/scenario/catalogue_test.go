package scenario_test

import (
	"testing"

	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/scenario"
	"github.com/vsphere-sandbox/vsphere-sandbox/scenarios"
)

// TestCatalogue: every scenario of the catalogue loads, and has a header for its readers.
func TestCatalogue(t *testing.T) {
	seen := map[string]string{}
	for _, entry := range scenarios.Catalogue() {
		t.Run(entry.Theme+"/"+entry.Name, func(t *testing.T) {
			if other, twice := seen[entry.Name]; twice {
				t.Errorf("is also in %s", other)
			}
			seen[entry.Name] = entry.Theme
			s, err := scenario.LoadCatalogue(entry.Theme + "/" + entry.Name)
			if err != nil {
				t.Fatal(err)
			}
			if s.Metadata.Name != entry.Name {
				t.Errorf("calls itself %q", s.Metadata.Name)
			}
			if s.Metadata.Description == "" || s.Expected == "" {
				t.Error("needs a description and what is expected")
			}
			for _, step := range s.Steps {
				t.Log(step.Action, step.Text())
			}
		})
	}
}
