package expect

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"go.yaml.in/yaml/v3"

	"github.com/vsphere-sandbox/vsphere-sandbox/internal/strict"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/event"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/sandbox/api"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/sandbox/api/world"
)

// Calls is a statement about how many calls vCenters got.
type Calls struct {
	VCenter string `json:"vcenter,omitempty"`
	// Client is ccm, csi, govc, sandbox, a pattern for a User-Agent or a part of one.
	Client string `json:"client,omitempty"`
	// Method is a pattern, or several.
	Method texts `json:"method,omitempty"`
	// Count is how many calls, Errors how many of these that failed.
	Count  *Count `json:"count,omitempty"`
	Errors *Count `json:"errors,omitempty"`
	Since  string `json:"since,omitempty"`
}

// texts is one text or several.
type texts []string

func (t *texts) DecodeYAML(r *strict.Reader, node *yaml.Node, path string) { *t = r.Texts(node, path) }

func (c *Calls) check(r *strict.Reader, node *yaml.Node, path string) {
	if c.Count == nil && c.Errors == nil {
		r.Errorf(node, path, `must say how many: count: "<= 10", or errors: 0`)
	}
}

// Agent is the pattern for the User-Agent of a client.
func Agent(client string) string {
	switch client {
	case "":
		return "*"
	case "ccm": // ours: vsphere-cloud-provider; upstream: k8s-cloud-provider-vsphere
		return "*cloud-provider*"
	case "csi":
		return "*csi*"
	case "govc":
		return "govc/*"
	case "sandbox":
		return "vsphere-sandbox*"
	}
	if IsPattern(client) {
		return client
	}
	return "*" + client + "*"
}

func (c *Calls) has(one api.Calls) bool {
	return (c.VCenter == "" || Match(c.VCenter, one.VCenter)) && Match(Agent(c.Client), one.Client) &&
		(len(c.Method) == 0 || slices.ContainsFunc(c.Method, func(m string) bool { return Match(m, one.Method) }))
}

func (c *Calls) sum(all []api.Calls) (calls, errors float64) {
	for _, one := range all {
		if c.has(one) {
			calls += float64(one.Calls)
			errors += float64(one.Errors)
		}
	}
	return calls, errors
}

// String says it in a few words.
func (c *Calls) String() string {
	var b strings.Builder
	b.WriteString("calls")
	if len(c.Method) > 0 {
		b.WriteString(" of " + strings.Join(c.Method, ","))
	}
	if c.Client != "" {
		b.WriteString(" by " + c.Client)
	}
	if c.VCenter != "" {
		b.WriteString(" to vCenter " + c.VCenter)
	}
	if c.Since != "" {
		b.WriteString(" since " + c.Since)
	}
	if c.Count != nil {
		b.WriteString(": " + c.Count.String())
	}
	if c.Errors != nil {
		b.WriteString(": errors " + c.Errors.String())
	}
	return b.String()
}

type callsTracker struct {
	want  *Calls
	since *Mark
}

// DependsOn is false for all: calls are no part of the world, and have to be asked for.
func (t *callsTracker) DependsOn(world.Kind) bool { return false }

func (t *callsTracker) counted(v *View) (calls, errors float64) {
	calls, errors = t.want.sum(v.Calls)
	before, bad := t.want.sum(t.since.Calls)
	return calls - before, errors - bad
}

func (t *callsTracker) Evaluate(v *View) Finding {
	calls, errors := t.counted(v)
	return Finding{Met: (t.want.Count == nil || t.want.Count.Has(calls)) && (t.want.Errors == nil || t.want.Errors.Has(errors))}
}

func (t *callsTracker) Describe(v *View) []string {
	calls, errors := t.counted(v)
	lines := []string{fmt.Sprintf("there were %.0f, of which %.0f failed", calls, errors)}
	by := map[string]float64{}
	for _, one := range v.Calls {
		if t.want.has(one) {
			by[one.Method] += float64(one.Calls)
		}
	}
	for _, one := range t.since.Calls {
		if t.want.has(one) {
			by[one.Method] -= float64(one.Calls)
		}
	}
	methods := slices.SortedFunc(slices.Values(sortedKeys(by)), func(a, b string) int { return cmp.Compare(by[b], by[a]) })
	for _, m := range methods[:min(len(methods), maxRows)] {
		if by[m] > 0 {
			lines = append(lines, fmt.Sprintf("%.0f %s", by[m], m))
		}
	}
	return lines
}

func (t *callsTracker) RelatedEvents(*View) []event.Event { return nil }
