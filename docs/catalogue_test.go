package docs

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/scenario"
)

// The catalogue of scenarios is printed from their headers.
func TestCatalogue(t *testing.T) {
	all, err := scenario.Catalogue()
	if err != nil {
		t.Fatal(err)
	}
	var b strings.Builder
	theme := ""
	for _, s := range all {
		if s.Theme != theme {
			theme = s.Theme
			fmt.Fprintf(&b, "\n## %s\n\n| scenario | what | reported | fails |\n|---|---|---|---|\n", theme)
		}
		name := s.Metadata.Name
		if slices.Contains(strings.Fields(strings.ReplaceAll(s.Metadata.Labels["suite"], ",", " ")), "core") {
			name = "**" + name + "**"
		}
		var fails []string
		for _, f := range s.Fails {
			if ccm := strings.TrimPrefix(f.CCM, "module:"); !slices.Contains(fails, ccm) {
				fails = append(fails, ccm)
			}
		}
		fmt.Fprintf(&b, "| [%s](../scenarios/%s/%s.yaml) | %s | %s | %s |\n", name, s.Theme, s.Metadata.Name,
			strings.ReplaceAll(s.Metadata.Description, "|", `\|`), strings.Join(s.Reported, ", "), strings.Join(fails, ", "))
	}
	generated(t, "catalogue.md", "catalogue", strings.TrimPrefix(b.String(), "\n"))
}
