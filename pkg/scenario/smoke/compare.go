package smoke

import (
	"context"
	"time"

	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/scenario"
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
