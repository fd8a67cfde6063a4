package volume

import (
	"cmp"
	"context"
	"fmt"

	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/sim/cns"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/sim/fault"
)

func attachSlow() *fault.Kind {
	return slowed(fault.Kind{
		Name:  "volume.attach-slow",
		Short: "has CNS take its time to attach volumes",
		Long: `The task of an attachment begins to work later than it came: a driver that dies meanwhile finds the volume attached, or
about to be, when it asks again. What waits is attached at once when it heals. The delay is not scaled by the sandbox's speed.`,
		Touches:  "time of attachments",
		Params:   append([]fault.Param{by()}, append(whose(), times())...),
		Reported: []string{"vsphere-csi-driver#284"},
	}, "CnsAttachVolume")
}

func cnsSlow() *fault.Kind {
	return slowed(fault.Kind{
		Name:  "cns.slow",
		Short: "has CNS take its time for everything that it changes",
		Long: `Each of its tasks, of creation, attachment, detachment, extension, snapshots and deletion, begins to work later than it
came. Queries are answered as fast as ever, and so are other calls of the vCenter: see tasks.slow and vcenter.latency for those. What
waits is done at once when it heals. The delay is not scaled by the sandbox's speed.`,
		Touches:  "time of CNS",
		Params:   append([]fault.Param{by()}, append(whose(), times())...),
		Reported: []string{"vsphere-csi-driver#284"},
	}, "")
}

// by is the parameter of how slow it is.
func by() fault.Param {
	return fault.Param{Name: "by", Short: "how much longer", Type: fault.Duration, Default: "10s"}
}

// slowed completes a kind that makes a call, or all (""), take longer; it has the parameters of [by], [whose] and [times].
func slowed(k fault.Kind, method string) *fault.Kind {
	return ruled(k, func(ctx context.Context, c *fault.Call) (r cns.Rule, does string, err error) {
		r.Method, r.Delay, r.Count = method, c.Params.Duration("by"), c.Params.Number("count")
		if r.Delay <= 0 {
			return r, "", &fault.Refusal{Code: "invalid", Message: "parameter by: must be more than no time"}
		}
		about, err := match(ctx, c, &r)
		if err != nil {
			return r, "", err
		}
		return r, fmt.Sprintf("%s%s takes %s longer", cmp.Or(method, "every task"), about, r.Delay), nil
	})
}
