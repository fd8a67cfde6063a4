package smoke

import (
	"context"
	"fmt"
	"strings"

	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/scenario"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/scenario/result"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/topology"
)

const sanityCheck = "sanity"

// Sanity is what came of the sanity suite of CSI.
type Sanity struct {
	// Passed and Skipped are numbers of its tests.
	Passed  int `json:"passed"`
	Skipped int `json:"skipped"`
	// Failed are its tests that failed, each with the first line of its reason.
	Failed []string `json:"failed,omitempty"`
}

// sanityTopology has one zone: the suite makes volumes for no place in particular, attaches them to one node, and wants that node to
// be in a zone, as the driver claims.
const sanityTopology = `apiVersion: sandbox.vsphere/v1alpha1
kind: Topology
metadata: {name: sanity, description: one zone with two workers}
spec:
  vcenters:
    - name: vc
      datacenters:
        - name: dc
          region: here
          zone: here-a
          clusters: [{name: compute, hosts: [{name: "esx-{n}", replicas: 2}]}]
          vms: [{name: "worker-{n}", replicas: 2, role: worker}]
`

// checkSanity runs the sanity suite against the driver of a new sandbox.
func (r *run) checkSanity(ctx context.Context) result.Scenario {
	c := r.begin(sanityCheck, "the tests of github.com/kubernetes-csi/csi-test, against the controller and the node service of one node", 2)
	if r.o.NoSanity != "" {
		c.step(ctx, "note", "the suite", func(context.Context) (string, error) { return "", errSkip{r.o.NoSanity} })
		return c.end()
	}
	var sandbox *scenario.Running
	t, err := topology.Load("sanity", []byte(sanityTopology))
	if err == nil {
		sandbox, err = r.bootFor(ctx, scenario.Requirements{Topology: t, Components: scenario.Components{CSI: "builtin"}})
	}
	if err == nil && sandbox.Stop != nil {
		defer func() { _ = sandbox.Stop(context.WithoutCancel(ctx)) }() // how that goes is no part of any result
	}
	c.step(ctx, "note", "a sandbox", func(context.Context) (string, error) { return "", err })
	if err != nil {
		return c.end()
	}
	c.s.Sandbox = sandbox.Name
	c.step(ctx, "expect", "no test of the suite fails", func(ctx context.Context) (string, error) {
		r.o.Busy("runs the sanity suite of CSI")
		defer r.o.Busy("")
		got, err := r.o.Sanity(ctx, sandbox)
		if err != nil {
			return "", err
		}
		sum := fmt.Sprintf("%d passed, %d skipped", got.Passed, got.Skipped)
		if len(got.Failed) > 0 {
			return "", errNot{fmt.Sprintf("%d failed, %s: %s", len(got.Failed), sum, strings.Join(got.Failed, "; "))}
		}
		return sum, nil
	})
	return c.end()
}
