package smoke

import (
	"bytes"
	"context"
	"encoding/json"
	"testing"
	"testing/synctest"

	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/scenario"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/scenario/report/golden"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/scenario/result"
)

const looks = `metadata: {name: looks}
steps:
  - inject: node.uninitialized
    on: {node: cp-1}
    as: again
  - expect: {event: {kind: node.untainted, object: cp-1}}
    within: 5s
`

func TestCompare(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		o := Options{
			Suite: []*scenario.Scenario{parse(t, looks), parse(t, bad)}, Speed: 10,
			Boot: func(_ context.Context, c Program, _ scenario.Requirements) (*scenario.Running, error) {
				f := newFake(c.Source)
				f.idle = c.Source == "./idle"
				return &scenario.Running{Sandbox: f, Name: "s", Command: f.command}, nil
			},
		}
		c := Compare(t.Context(), []Program{{Source: "module:v1.36.0", Version: "v1.36.0"}, {Source: "./idle"}}, o)
		if c.Verdict() != result.Failed {
			t.Error(c.Verdict())
		}
		if s := &c.Columns[0].Suite.Scenarios[1]; s.Shown() != result.Known {
			t.Errorf("known, and reported as %s", s.Shown())
		}
		var b bytes.Buffer
		if err := Matrix(&b, c); err != nil {
			t.Fatal(err)
		}
		golden.Equal(t, "matrix.md", dates.ReplaceAllString(b.String(), "DATE"))
		b.Reset()
		if err := MatrixJSON(&b, c); err != nil {
			t.Fatal(err)
		}
		var doc struct {
			Kind        string
			Columns     []struct{ Results struct{ Kind string } }
			Differences []Difference
		}
		if err := json.Unmarshal(b.Bytes(), &doc); err != nil || doc.Kind != KindComparison || len(doc.Columns) != 2 || len(doc.Differences) != 1 {
			t.Errorf("%v, %+v", err, doc)
		}
	})
}
