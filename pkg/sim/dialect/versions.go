package dialect

import (
	"encoding/xml"
	"fmt"
	"net/http"
	"slices"
	"strconv"
	"strings"
)

// Versions serves vimServiceVersions.xml for a vCenter of an API version, with that version and all prior ones.
func Versions(api string) http.HandlerFunc {
	all := []string{
		"9.0.0.0", "8.0.3.0", "8.0.2.0", "8.0.1.0", "8.0.0.1", "7.0.3.2", "7.0.3.0", "7.0.2.0", "7.0.1.0", "7.0.0.0", "6.9.1", "6.8.7",
		"6.7.3", "6.7.2", "6.7.1", "6.7", "6.5", "6.0", "5.5",
	}
	return func(w http.ResponseWriter, _ *http.Request) {
		var prior strings.Builder
		for _, version := range all {
			if slices.Compare(numbers(version), numbers(api)) < 0 {
				fmt.Fprintf(&prior, "   <version>%s</version>\n", version)
			}
		}
		w.Header().Set("Content-Type", "text/xml")
		_, _ = fmt.Fprintf(w, xml.Header+`<namespaces version="1.0">
 <namespace>
  <name>urn:vim25</name>
  <version>%s</version>
  <priorVersions>
%s  </priorVersions>
 </namespace>
</namespaces>
`, api, prior.String())
	}
}

// numbers parses a version; other texts count as 0.
func numbers(version string) (all []int) {
	for part := range strings.SplitSeq(version, ".") {
		n, _ := strconv.Atoi(part)
		all = append(all, n)
	}
	return all
}
