package api

import (
	"fmt"

	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/sim/fault"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/sim/gate"
)

// latency is a slow vCenter, or a slow way to it.
func latency() *fault.Kind {
	return ruled(fault.Kind{
		Name:  "vcenter.latency",
		Short: "makes a vCenter's API slow",
		Long: `Each call waits for the delay, give or take up to the jitter, before the vCenter
sees it. The delay is not scaled by the sandbox's speed: it is compared with the
time-outs of clients, which are not, either.`,
		Params: params([]fault.Param{
			{Name: "delay", Short: "how long each call is held back", Type: fault.Duration, Default: "1s"},
			{Name: "jitter", Short: "how much longer or shorter it may be; no more than the delay", Type: fault.Duration, Default: "0s"},
		}, whose(), chance()),
		Reported: []string{"kubernetes#75285"},
	}, func(v fault.Values) (gate.Action, string) {
		delay, jitter := v.Duration("delay"), v.Duration("jitter")
		does := fmt.Sprintf("answers %s later", delay)
		if jitter > 0 {
			does = fmt.Sprintf("answers %s ± %s later", delay, jitter)
		}
		return gate.Latency{Delay: delay, Jitter: jitter}, does + " to"
	})
}
