package gate

import (
	"errors"
	"fmt"
	"maps"
	"math"
	"net/http"
	"slices"
	"strings"

	"github.com/vsphere-sandbox/vsphere-sandbox/internal/glob"
	"github.com/vsphere-sandbox/vsphere-sandbox/internal/nearest"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/sim/gate/internal/known"
)

// problem is a problem of a rule.
type problem struct {
	at   string // path of the field, as in "match.methods[0]"
	what string
}

func (p problem) Error() string {
	if p.at == "" {
		return p.what
	}
	return p.at + ": " + p.what
}

// Validate returns all problems of a rule, or nil.
func (r Rule) Validate() error {
	var all []error
	for _, p := range r.problems() {
		all = append(all, fmt.Errorf("%s: %w", r.title(), p))
	}
	return errors.Join(all...)
}

// checker collects problems.
type checker struct{ found []problem }

func (c *checker) add(at, format string, args ...any) {
	c.found = append(c.found, problem{at, fmt.Sprintf(format, args...)})
}

// name checks a name against the known ones.
func (c *checker) name(at, what, name string, known []string) {
	if name != "" && !slices.Contains(known, name) {
		c.add(at, "unknown %s %q%s", what, name, hint(name, known))
	}
}

// hint suggests a known name.
func hint(name string, known []string) string {
	if guess := nearest.Of(name, known); guess != "" {
		return fmt.Sprintf(": did you mean %s?", guess)
	}
	return ""
}

func (r Rule) problems() []problem {
	var c checker
	if r.Probability < 0 || r.Probability > 1 || r.Probability != r.Probability {
		c.add("probability", "%v is not between 0 and 1", r.Probability)
	}
	if r.Skip < 0 {
		c.add("skip", "%d is negative", r.Skip)
	}
	if r.Count < 0 {
		c.add("count", "%d is negative", r.Count)
	}
	if r.Window.From < 0 {
		c.add("window.from", "%s is negative", r.Window.From)
	}
	if w := r.Window; w.Until != 0 && w.Until <= max(w.From, 0) {
		c.add("window.until", "%s is not after from, %s", w.Until, w.From)
	}
	c.match(r.Match)
	if r.Action == nil {
		c.add("action", "a rule needs one")
	} else {
		c.action(r.Action)
		if t := transport(r.Action); t != "" && r.Match.Transport != "" && r.Match.Transport != t {
			c.add("match.transport", "%s happens to %s only, not to %s", r.Action.key(), t, r.Match.Transport)
		}
	}
	return c.found
}

func (c *checker) match(m Match) {
	c.name("match.transport", "transport", string(m.Transport), []string{string(SOAP), string(REST), string(HTTP)})
	for i, p := range m.Methods {
		c.method(fmt.Sprintf("match.methods[%d]", i), p, m.Transport)
	}
	c.name("match.object.type", "type of managed object", m.Object.Type, known.Objects())
	if strings.ContainsAny(m.Object.Ref, ":*? \t") {
		c.add("match.object.ref", "%q is not the value of a reference, such as vm-42", m.Object.Ref)
	}
}

func (c *checker) action(a Action) {
	switch a := a.(type) {
	case Latency:
		if a.Delay <= 0 {
			c.add("action.latency.delay", "%s is not positive", a.Delay)
		}
		if a.Jitter < 0 || a.Jitter > max(a.Delay, 0) {
			c.add("action.latency.jitter", "%s is not between 0 and the delay, %s", a.Jitter, a.Delay)
		}
	case HTTPStatus:
		if a.Code < 400 || a.Code > 599 {
			c.add("action.status.code", "%d is not between 400 and 599", a.Code)
		}
	case Throttle:
		if !(a.Rate > 0) || math.IsInf(a.Rate, 0) {
			c.add("action.throttle.rate", "%v is not a positive number", a.Rate)
		}
		if a.Code != 0 && (a.Code < 400 || a.Code > 599) {
			c.add("action.throttle.code", "%d is not between 400 and 599", a.Code)
		}
	case DropSession:
		if a.After < 0 {
			c.add("action.dropSession.after", "%d is negative", a.After)
		}
	case Reset:
		if a.Bytes < 0 {
			c.add("action.reset.bytes", "%d is negative", a.Bytes)
		}
	case Fault:
		c.fault("action.fault", a)
	case RESTError:
		if a.Type == "" {
			c.add("action.restError.type", "is empty")
		}
		c.name("action.restError.type", "error", a.Type, append(restErrors(), policyErrors()...))
		if a.Status != 0 && (a.Status < 400 || a.Status > 599) {
			c.add("action.restError.status", "%d is not between 400 and 599", a.Status)
		}
	case FailTask:
		if a.After < 0 {
			c.add("action.failTask.after", "%s is negative", a.After)
		}
		c.fault("action.failTask.fault", a.Fault)
	}
}

func (c *checker) fault(at string, f Fault) {
	_, kind, ok := faultName(f.Type)
	switch {
	case f.Type == "":
		c.add(at+".type", "is empty")
		return
	case !ok:
		var names []string
		for _, full := range known.Faults() {
			names = append(names, full[strings.IndexByte(full, ':')+1:])
		}
		c.add(at+".type", "unknown fault %q%s", f.Type, hint(f.Type, names))
		return
	}
	fields, bad := fieldNames(kind), false
	for _, name := range slices.Sorted(maps.Keys(f.Fields)) {
		if !slices.Contains(fields, name) {
			c.add(at+".fields."+name, "%s has no such field%s", f.Type, hint(name, fields))
			bad = true
		}
	}
	if bad {
		return
	}
	if fault, err := f.build(); err != nil {
		c.add(at+".fields", "%v", err)
	} else if _, err := faultBody(fault, f.Message); err != nil {
		c.add(at+".fields", "%v", err)
	}
}

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
// accepts any other part of the Automation API, and all of the Policy API.
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
	if under(fixed, "/policy") {
		return ""
	}
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
