package expect

import (
	"cmp"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"

	"github.com/prometheus/common/expfmt"
	"github.com/prometheus/common/model"
	"go.yaml.in/yaml/v3"

	"github.com/vsphere-sandbox/vsphere-sandbox/internal/strict"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/event"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/sandbox/api"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/sandbox/api/world"
)

// Log is a statement about the lines of a component's log: that a matching one exists, or how many.
type Log struct {
	Component string `json:"component"`
	// Matches is a regular expression that matches the line.
	Matches string `json:"matches"`
	// Count is how many lines; default at least one.
	Count *Count `json:"count,omitempty"`
	Since string `json:"since,omitempty"`

	matches *regexp.Regexp
}

func (l *Log) check(r *strict.Reader, node *yaml.Node, path string) {
	if l.Component == "" {
		r.Errorf(node, path, "needs a component: component: ccm")
	}
	if l.Matches == "" {
		r.Errorf(node, path, "needs a pattern: matches: REGEXP")
	}
	l.matches = expression(r, node, path, "matches", l.Matches)
}

// String returns a short description.
func (l *Log) String() string {
	text := fmt.Sprintf("log of %s has /%s/", l.Component, l.Matches)
	if l.Count != nil {
		text += ", count " + l.Count.String()
	}
	if l.Since != "" {
		text += " since " + l.Since
	}
	return text
}

// logTracker counts lines as they arrive.
type logTracker struct {
	want  *Log
	since *Mark
	seen  int
	begun bool
	count int
	last  string
}

// DependsOn returns false for all kinds: logs are no part of the world.
func (t *logTracker) DependsOn(world.Kind) bool { return false }

func (t *logTracker) Evaluate(v *View) Finding {
	if !t.begun {
		t.begun, t.seen = true, t.since.Lines[t.want.Component]
	}
	lines := v.Lines[t.want.Component]
	for ; t.seen < len(lines); t.seen++ {
		if t.want.matches.MatchString(lines[t.seen]) {
			t.count++
			t.last = lines[t.seen]
		}
	}
	if t.want.Count != nil {
		return Finding{Met: t.want.Count.Has(float64(t.count))}
	}
	return Finding{Met: t.count > 0}
}

func (t *logTracker) Describe(v *View) []string {
	if t.count > 0 {
		return []string{fmt.Sprintf("there were %d such lines, the last one: %s", t.count, strings.TrimSpace(t.last))}
	}
	lines := v.Lines[t.want.Component]
	found := []string{fmt.Sprintf("there was no such line among %d", len(lines)-t.since.Lines[t.want.Component])}
	for _, line := range lines[max(0, len(lines)-3):] {
		found = append(found, "the log ends: "+strings.TrimSpace(line))
	}
	return found
}

func (t *logTracker) RelatedEvents(*View) []event.Event { return nil }

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

// Metric is a statement about a metric of a component: the sum of its series with the labels. Without such a series no statement
// is true: a wrong name, or a component that does not answer, is not 0.
type Metric struct {
	Component string            `json:"component"`
	Name      string            `json:"name"`
	Labels    map[string]string `json:"labels,omitempty"`
	Value     *Count            `json:"value"`
	// Since makes it about the increase since then.
	Since string `json:"since,omitempty"`
}

func (m *Metric) check(r *strict.Reader, node *yaml.Node, path string) {
	if m.Component == "" {
		r.Errorf(node, path, "needs a component: component: ccm")
	}
	if m.Name == "" {
		r.Errorf(node, path, "needs a name: name: METRIC")
	}
	if m.Value == nil {
		r.Errorf(node, path, `must say what it has to be: value: ">= 1"`)
	}
}

// String returns a short description.
func (m *Metric) String() string {
	text := "metric " + m.Name
	if len(m.Labels) > 0 {
		var parts []string
		for _, key := range sortedKeys(m.Labels) {
			parts = append(parts, key+"="+m.Labels[key])
		}
		text += "{" + strings.Join(parts, ",") + "}"
	}
	text += " of " + m.Component
	if m.Since != "" {
		text += " since " + m.Since
	}
	if m.Value != nil {
		text += ": " + m.Value.String()
	}
	return text
}

func (m *Metric) sum(samples []Sample) (sum float64, series int) {
next:
	for _, s := range samples {
		if s.Name != m.Name {
			continue
		}
		for key, want := range m.Labels {
			if !Match(want, s.Labels[key]) {
				continue next
			}
		}
		sum += s.Value
		series++
	}
	return sum, series
}

type metricTracker struct {
	want  *Metric
	since *Mark
}

// DependsOn returns false for all kinds: metrics are polled.
func (t *metricTracker) DependsOn(world.Kind) bool { return false }

func (t *metricTracker) value(v *View) (float64, int) {
	sum, series := t.want.sum(v.Samples[t.want.Component])
	if t.since != nil {
		before, _ := t.want.sum(t.since.Samples[t.want.Component])
		sum -= before
	}
	return sum, series
}

func (t *metricTracker) Evaluate(v *View) Finding {
	sum, series := t.value(v)
	return Finding{Met: series > 0 && t.want.Value != nil && t.want.Value.Has(sum)}
}

func (t *metricTracker) Describe(v *View) []string {
	sum, series := t.value(v)
	if series == 0 {
		if v.Samples[t.want.Component] == nil {
			return []string{t.want.Component + " does not serve its metrics"}
		}
		return []string{t.want.Component + " has no such metric"}
	}
	return []string{fmt.Sprintf("it is %g, of %d series", sum, series)}
}

func (t *metricTracker) RelatedEvents(*View) []event.Event { return nil }

// Sample is one series of a metric at a point in time.
type Sample struct {
	Name   string
	Labels map[string]string
	Value  float64
}

// ParseSamples parses metrics in Prometheus' text format. Histograms and summaries become the series that they consist of.
// It returns the metrics before the first invalid line.
func ParseSamples(text string) []Sample {
	parser := expfmt.NewTextParser(model.LegacyValidation)
	families, _ := parser.TextToMetricFamilies(strings.NewReader(text)) // with an error it returns what it has parsed
	var all []Sample
	for _, name := range slices.Sorted(maps.Keys(families)) {
		vector, _ := expfmt.ExtractSamples(&expfmt.DecodeOptions{}, families[name]) // fails for unknown types only
		for _, v := range vector {
			s := Sample{Name: string(v.Metric[model.MetricNameLabel]), Labels: map[string]string{}, Value: float64(v.Value)}
			for name, value := range v.Metric {
				if name != model.MetricNameLabel {
					s.Labels[string(name)] = string(value)
				}
			}
			all = append(all, s)
		}
	}
	return all
}
