package smoke

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/scenario"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/scenario/report"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/scenario/result"
)

// Comparison is the result of the same suite for several cloud controller managers.
type Comparison struct {
	Columns []Column
	Began   time.Time
	Took    time.Duration
	Speed   float64
	Seed    uint64
	// Version is this program's, KubernetesVersion the control plane's.
	Version, KubernetesVersion string
}

// Column is the result of one of them.
type Column struct {
	CCM   CCM
	Suite result.Suite
	// Timelines are those of the scenarios, by their names: see [scenario.Timeline].
	Timelines map[string]string
	// Known are the reasons of known failures, by scenario.
	Known map[string]string
}

// Compare runs the suite with each of them, one after the other. It ignores the options CCM and Baseline. After the end of ctx it
// skips the rest.
func Compare(ctx context.Context, list []CCM, o Options) *Comparison {
	o = o.withDefaults()
	c := &Comparison{Began: time.Now(), Speed: o.Speed, Seed: o.Seed}
	number := 0
	for _, ccm := range list {
		o.Say("\n%s", ccm)
		column := Column{CCM: ccm, Timelines: map[string]string{}, Known: map[string]string{}}
		options := scenario.Options{Seed: o.Seed, Patience: o.Patience, Observe: func(u result.Update) {
			if u.Change == result.ScenarioBegan {
				number++
			}
			u.Number, u.Of = number, len(list)*len(o.Suite)
			o.Observe(u)
		}}
		boot := func(ctx context.Context, need scenario.Requirements) (*scenario.Running, error) {
			return o.Boot(ctx, ccm, need)
		}
		column.Suite = scenario.RunAll(ctx, o.Suite, boot, options, func(s *scenario.Scenario, out scenario.Outcome) {
			column.Timelines[s.Metadata.Name] = out.Timeline
			if why := ccm.knownIn(s.Fails); why != "" && out.Verdict == result.Failed {
				column.Known[s.Metadata.Name] = why
			}
			for _, left := range out.Left {
				o.Say("  is not as it was: %s", left)
			}
		})
		column.Suite.Name, column.Suite.CCM, column.Suite.CCMVersion = "matrix", ccm.Source, ccm.Version
		c.Columns = append(c.Columns, column)
	}
	c.Took = time.Since(c.Began)
	return c
}

// find returns the result of a scenario, or nil if it was not run.
func (c *Column) find(name string) *result.Scenario {
	for i := range c.Suite.Scenarios {
		if c.Suite.Scenarios[i].Name == name {
			return &c.Suite.Scenarios[i]
		}
	}
	return nil
}

// Verdict returns the worst of all; known failures count only with strict.
func (c *Comparison) Verdict(strict bool) result.Verdict {
	var all []result.Verdict
	for i := range c.Columns {
		column := &c.Columns[i]
		for j := range column.Suite.Scenarios {
			s := &column.Suite.Scenarios[j]
			if column.Known[s.Name] == "" || strict {
				all = append(all, s.Verdict)
			} else {
				all = append(all, result.Passed)
			}
		}
	}
	return result.Worst(all...)
}

// Difference is how a scenario differs from the first column.
type Difference struct {
	Scenario string `json:"scenario"`
	CCM      string `json:"ccm"`
	Than     string `json:"than"`
	// Lines are the lines of only one timeline: "- " of the first column, "+ " of this one.
	Lines []string `json:"timeline,omitempty"`
	// Latencies are steps with a clearly different latency.
	Latencies []string `json:"latencies,omitempty"`
}

// Differences compares each column with the first, and leaves out equal timelines.
func (c *Comparison) Differences() []Difference {
	all := []Difference{}
	if len(c.Columns) < 2 {
		return all
	}
	first := &c.Columns[0]
	for i := range first.Suite.Scenarios {
		a := &first.Suite.Scenarios[i]
		for j := 1; j < len(c.Columns); j++ {
			column := &c.Columns[j]
			b := column.find(a.Name)
			if b == nil {
				continue
			}
			d := Difference{
				Scenario: name(a), CCM: column.CCM.String(), Than: first.CCM.String(),
				Lines: diff(lines(first.Timelines[a.Name]), lines(column.Timelines[a.Name])), Latencies: latencies(a, b),
			}
			if len(d.Lines)+len(d.Latencies) > 0 {
				all = append(all, d)
			}
		}
	}
	return all
}

func lines(text string) []string { return strings.Split(strings.TrimRight(text, "\n"), "\n") }

// diff returns the lines of only one of two lists, those of a with "- ", those of b with "+ ".
func diff(a, b []string) []string {
	// common[i][j] is the length of the longest common subsequence of a[i:] and b[j:].
	common := make([][]int, len(a)+1)
	for i := range common {
		common[i] = make([]int, len(b)+1)
	}
	for i, x := range slices.Backward(a) {
		for j, y := range slices.Backward(b) {
			if x == y {
				common[i][j] = common[i+1][j+1] + 1
			} else {
				common[i][j] = max(common[i+1][j], common[i][j+1])
			}
		}
	}
	var out []string
	i, j := 0, 0
	for i < len(a) || j < len(b) {
		switch {
		case i < len(a) && j < len(b) && a[i] == b[j]:
			i, j = i+1, j+1
		case j == len(b) || i < len(a) && common[i+1][j] >= common[i][j+1]:
			out = append(out, "- "+a[i])
			i++
		default:
			out = append(out, "+ "+b[j])
			j++
		}
	}
	return out
}

// The minimum difference of two latencies: less is noise.
const (
	latencyLeast = time.Second
	latencyTimes = 1.5
)

// latencies compares the latencies of steps that both waited for.
func latencies(a, b *result.Scenario) []string {
	var all []string
	for i := range a.Steps {
		if i >= len(b.Steps) {
			break
		}
		x, y := a.Steps[i], b.Steps[i]
		if x.Verdict != result.Passed || y.Verdict != result.Passed || x.Latency <= 0 || y.Latency <= 0 {
			continue
		}
		long, short := max(x.Latency, y.Latency), min(x.Latency, y.Latency)
		if long-short >= latencyLeast && float64(long) >= latencyTimes*float64(short) {
			all = append(all, fmt.Sprintf("%s %s: %s, was %s", y.Action, report.Line(y.Text), report.Took(y.Latency), report.Took(x.Latency)))
		}
	}
	return all
}
