package expect

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/prometheus/common/expfmt"
	"github.com/prometheus/common/model"
	"go.yaml.in/yaml/v3"

	"github.com/vsphere-sandbox/vsphere-sandbox/internal/strict"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/event"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/sandbox/api/world"
)

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

// Concerns returns false for all kinds: metrics are polled.
func (t *metricTracker) Concerns(world.Kind) bool { return false }

func (t *metricTracker) value(v *View) (float64, int) {
	sum, series := t.want.sum(v.Samples[t.want.Component])
	if t.since != nil {
		before, _ := t.want.sum(t.since.Samples[t.want.Component])
		sum -= before
	}
	return sum, series
}

func (t *metricTracker) Look(v *View) Finding {
	sum, series := t.value(v)
	return Finding{Met: series > 0 && t.want.Value != nil && t.want.Value.Has(sum)}
}

func (t *metricTracker) Was(v *View) []string {
	sum, series := t.value(v)
	if series == 0 {
		if v.Samples[t.want.Component] == nil {
			return []string{t.want.Component + " does not serve its metrics"}
		}
		return []string{t.want.Component + " has no such metric"}
	}
	return []string{fmt.Sprintf("it is %g, of %d series", sum, series)}
}

func (t *metricTracker) Related(*View) []event.Event { return nil }

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
