package smoke

import (
	"context"
	"fmt"
	"strings"

	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/scenario/result"
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

// checkSanity runs the sanity suite against the driver of a new sandbox: the suite makes volumes and snapshots of its own, and
// attaches them to a node.
func (r *run) checkSanity(ctx context.Context) result.Scenario {
	c := r.begin(sanityCheck, "the tests of github.com/kubernetes-csi/csi-test, against the controller and the node service of one node", 2)
	sandbox, err := r.bootFor(ctx, r.measured)
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
