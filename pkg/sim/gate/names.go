package gate

import (
	"fmt"
	"net/http"
	"slices"
	"strings"

	"github.com/vsphere-sandbox/vsphere-sandbox/internal/glob"
	"github.com/vsphere-sandbox/vsphere-sandbox/internal/nearest"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/sim/gate/internal/known"
)

// method checks a pattern of Match.Methods.
func (c *checker) method(at, pattern string, t Transport) {
	switch {
	case pattern == "":
		c.add(at, "is empty")
	case strings.ContainsAny(pattern, "/ "):
		if t == SOAP {
			c.add(at, "%q is not a SOAP method", pattern)
		} else if what := operation(pattern); what != "" {
			c.add(at, "%s", what)
		}
	case t == REST && !glob.IsPattern(pattern):
		c.add(at, "%q is not a REST operation, such as GET /rest/com/vmware/cis/tagging/tag", pattern)
	case !glob.IsPattern(pattern):
		c.name(at, "method", pattern, known.Methods())
	case t == SOAP && !slices.ContainsFunc(known.Methods(), func(m string) bool { return glob.Match(pattern, m) }):
		c.add(at, "no method is like %q", pattern)
	case t == "" && !slices.ContainsFunc(append(known.Methods(), known.Operations()...), func(m string) bool { return glob.Match(pattern, m) }):
		c.add(at, "no method is like %q", pattern)
	}
}

// verbs lists the verbs of REST operations.
func verbs() []string {
	return []string{http.MethodGet, http.MethodPost, http.MethodPut, http.MethodPatch, http.MethodDelete, http.MethodHead}
}

// operation returns the problem of a pattern for REST operations, or "". It knows every operation on sessions and tags, and
// accepts any other part of the Automation API.
func operation(pattern string) string {
	verb, path, ok := strings.Cut(pattern, " ")
	if !ok {
		verb, path = "*", pattern
	}
	if !slices.ContainsFunc(verbs(), func(v string) bool { return glob.Match(verb, v) }) {
		return fmt.Sprintf("%q begins with no verb of HTTP%s", pattern, hint(strings.ToUpper(verb), verbs()))
	}
	operations := known.Operations()
	if slices.ContainsFunc(operations, func(o string) bool { return isMethod([]string{pattern}, o) || glob.Match(verb+" "+path, o) }) {
		return ""
	}
	fixed, _, open := strings.Cut(path, "*")
	if !isREST(fixed) && !strings.HasPrefix("/rest/", fixed) && !strings.HasPrefix("/api/", fixed) && strings.HasPrefix(fixed, "/") {
		return "" // files and the like
	}
	for _, part := range []string{"/com/vmware/content", "/com/vmware/vcenter", "/vcenter", "/content", "/esx", "/appliance", "/cis/tasks"} {
		for _, base := range []string{"/rest", "/api"} {
			if under(fixed, base+part) || open && strings.HasPrefix(base+part+"/", fixed) {
				return ""
			}
		}
	}
	if !ok {
		for i, o := range operations {
			_, operations[i], _ = strings.Cut(o, " ")
		}
	}
	return fmt.Sprintf("unknown REST operation %q%s", pattern, similar(pattern, operations))
}

// similar suggests the operation that was probably meant: among those with few differences, the one with the longest common
// prefix.
func similar(pattern string, operations []string) string {
	best, longest := "", -1
	for _, o := range operations {
		same := 0
		for same < min(len(pattern), len(o)) && pattern[same] == o[same] {
			same++
		}
		from := max(0, same-20)
		if same > longest && nearest.Of(pattern[from:], []string{o[from:]}) != "" {
			best, longest = o, same
		}
	}
	if best == "" {
		return ""
	}
	return fmt.Sprintf(": did you mean %s?", best)
}
