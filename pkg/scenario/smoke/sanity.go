package smoke

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/scenario"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/scenario/result"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/scenario/verdict"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/topology"
)

const sanityCheck = "sanity"

// Sanity is what came of the sanity suite of CSI.
type Sanity struct {
	// Passed and Skipped are numbers of its tests.
	Passed  int `json:"passed"`
	Skipped int `json:"skipped"`
	// Failed are its tests that failed.
	Failed []SanityFailure `json:"failed,omitempty"`
}

// SanityFailure is a test of the sanity suite that failed.
type SanityFailure struct {
	Test   string `json:"test"`
	Reason string `json:"reason"`
}

// excused is a test of the sanity suite that a driver is known to fail.
type excused struct{ test, why string }

// judge returns the error of what the suite found; known reports that no other tests failed than the excused ones.
func (s Sanity) judge(list []excused) (known bool, err error) {
	sum := fmt.Sprintf("%d passed, %d skipped", s.Passed, s.Skipped)
	if len(s.Failed) == 0 {
		return false, nil
	}
	var others, mended, reasons []string
	failed, times := map[string]bool{}, map[string]int{}
	for _, f := range s.Failed {
		failed[f.Test] = true
		if !slices.ContainsFunc(list, func(e excused) bool { return e.test == f.Test }) {
			others = append(others, f.Test+": "+f.Reason)
		}
	}
	for _, e := range list {
		if !failed[e.test] {
			mended = append(mended, e.test)
			continue
		}
		if times[e.why]++; times[e.why] == 1 {
			reasons = append(reasons, e.why)
		}
	}
	for i, why := range reasons {
		reasons[i] = fmt.Sprintf("%d× %s", times[why], why)
	}
	text := fmt.Sprintf("%d failed, %s", len(s.Failed), sum)
	switch {
	case len(list) == 0:
		return false, errNot{text + ": " + strings.Join(others, "; ")}
	case len(others) > 0:
		return false, errNot{fmt.Sprintf("%s; %d of them are not known to fail: %s", text, len(others), strings.Join(others, "; "))}
	case len(mended) > 0:
		text += "; known to fail, and does not: " + strings.Join(mended, "; ")
	}
	return true, errNot{text + "; all of them are known to fail: " + strings.Join(reasons, "; ")}
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

// checkSanity runs the sanity suite against the driver of a new sandbox. known is what makes a failure a known one.
func (r *run) checkSanity(ctx context.Context) (_ result.Scenario, known []verdict.Known) {
	c := r.begin(sanityCheck, "the tests of github.com/kubernetes-csi/csi-test, against the controller and the node service of one node", 2)
	if r.o.NoSanity != "" {
		c.step(ctx, "note", "the suite", func(context.Context) (string, error) { return "", errSkip{r.o.NoSanity} })
		return c.end(), nil
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
		return c.end(), nil
	}
	c.s.Sandbox = sandbox.Name
	c.step(ctx, "expect", "no test of the suite fails", func(ctx context.Context) (string, error) {
		r.o.Busy("runs the sanity suite of CSI")
		defer r.o.Busy("")
		got, err := r.o.Sanity(ctx, sandbox)
		if err != nil {
			return "", err
		}
		var list []excused
		if verdict.Find(r.kind.sanity, r.side.program) != nil {
			list = r.kind.excused
		}
		only, err := got.judge(list)
		if only {
			known = r.kind.sanity
		}
		return fmt.Sprintf("%d passed, %d skipped", got.Passed, got.Skipped), err
	})
	return c.end(), known
}
