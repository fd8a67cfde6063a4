package expect

import (
	"maps"
	"slices"
	"strings"

	"github.com/prometheus/common/expfmt"
	"github.com/prometheus/common/model"
)

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
