package expect

import (
	"strconv"
	"strings"
)

// Sample is one series of a metric at one moment.
type Sample struct {
	Name   string
	Labels map[string]string
	Value  float64
}

// ParseSamples reads metrics in Prometheus' text format: of histograms and summaries the series that they are made of.
// Lines that are none are left out.
func ParseSamples(text string) []Sample {
	var all []Sample
	for line := range strings.Lines(text) {
		if s, ok := parseSample(strings.TrimSpace(line)); ok {
			all = append(all, s)
		}
	}
	return all
}

func parseSample(line string) (Sample, bool) {
	end := strings.IndexAny(line, "{ \t")
	if end <= 0 || line[0] == '#' {
		return Sample{}, false
	}
	s := Sample{Name: line[:end], Labels: map[string]string{}}
	rest := line[end:]
	if rest[0] == '{' {
		var ok bool
		if rest, ok = s.label(rest[1:]); !ok {
			return Sample{}, false
		}
	}
	number, _, _ := strings.Cut(strings.TrimSpace(rest), " ") // a time may follow
	v, err := strconv.ParseFloat(number, 64)
	s.Value = v
	return s, err == nil
}

// label reads a="b",… up to the bracket, and returns what is behind it.
func (s *Sample) label(text string) (rest string, ok bool) {
	for {
		text = strings.TrimLeft(text, ", ")
		if after, done := strings.CutPrefix(text, "}"); done {
			return after, true
		}
		name, value, found := strings.Cut(text, `="`)
		if !found {
			return "", false
		}
		var b strings.Builder
		i := 0
		for ; i < len(value) && value[i] != '"'; i++ {
			if value[i] != '\\' || i+1 == len(value) {
				b.WriteByte(value[i])
				continue
			}
			if i++; value[i] == 'n' {
				b.WriteByte('\n')
			} else {
				b.WriteByte(value[i])
			}
		}
		if i == len(value) {
			return "", false
		}
		s.Labels[strings.TrimSpace(name)] = b.String()
		text = value[i+1:]
	}
}
