package scenario

import (
	"fmt"
	"strconv"
	"strings"
	"time"

	"go.yaml.in/yaml/v3"

	"github.com/vsphere-sandbox/vsphere-sandbox/internal/strict"
)

// Duration is a time in a scenario: 10s is real time; 40s/speed is forty seconds on a cluster with upstream's defaults, and
// shorter on a faster one.
type Duration struct {
	D time.Duration
	// Scaled durations are divided by the sandbox's speed.
	Scaled bool
}

// maxDuration is longer than any scenario needs.
const maxDuration = 24 * time.Hour

// ParseDuration parses a duration.
func ParseDuration(text string) (Duration, error) {
	number, scaled := strings.CutSuffix(strings.ReplaceAll(text, " ", ""), "/speed")
	d, err := time.ParseDuration(number)
	switch {
	case err != nil:
		return Duration{}, fmt.Errorf("must be a duration such as 500ms, 10s or 1m30s, or 40s/speed for a time of a cluster with upstream's defaults, not %q", text)
	case d < 0:
		return Duration{}, fmt.Errorf("must not be negative, as %q is", text)
	case d > maxDuration:
		return Duration{}, fmt.Errorf("must not be more than a day, as %q is", text)
	}
	return Duration{D: d, Scaled: scaled}, nil
}

// DecodeYAML parses a duration.
func (d *Duration) DecodeYAML(r *strict.Reader, node *yaml.Node, path string) {
	if node.Kind != yaml.ScalarNode || strict.IsNull(node) {
		r.Errorf(node, path, "must be a duration such as 10s, not %s", strict.Describe(node))
		return
	}
	if strict.IsLate(node.Value) {
		r.Errorf(node, path, "must be known before the scenario runs, unlike ${…} of a set step")
		return
	}
	parsed, err := ParseDuration(node.Value)
	if err != nil {
		hint := ""
		if _, err := strconv.ParseUint(node.Value, 10, 16); err == nil {
			hint = node.Value + "s"
		}
		r.Hint(node, path, hint, "%v", err)
		return
	}
	*d = parsed
}

// MarshalYAML writes what DecodeYAML reads.
func (d Duration) MarshalYAML() (any, error) { return d.String(), nil }

// IsZero reports whether the duration is zero.
func (d Duration) IsZero() bool { return d.D == 0 }

// At returns the duration at a speed.
func (d Duration) At(speed float64) time.Duration {
	if d.Scaled && speed > 0 {
		return time.Duration(float64(d.D) / speed)
	}
	return d.D
}

// String returns the short form.
func (d Duration) String() string {
	text := d.D.String()
	for _, zero := range []string{"m0s", "h0m"} { // 1m0s
		if strings.HasSuffix(text, zero) {
			text = text[:len(text)-2]
		}
	}
	if d.Scaled {
		text += "/speed"
	}
	return text
}
