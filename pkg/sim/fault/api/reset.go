package api

import (
	"fmt"

	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/sim/fault"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/sim/gate"
)

// resetMidBody is a connection that is lost when it matters.
func resetMidBody() *fault.Kind {
	return ruled(fault.Kind{
		Name:  "vcenter.reset-mid-body",
		Short: "resets connections to a vCenter in the midst of its answers",
		Long: `The vCenter does what it was asked for, and the connection is reset after so many
bytes of the answer: the client cannot know whether it was done.`,
		Params: params([]fault.Param{
			{Name: "bytes", Short: "how much of the answer's body is let through", Type: fault.Number, Default: "64"},
		}, whose(), chance()),
	}, func(v fault.Values) (gate.Action, string) {
		n := max(1, v.Number("bytes"))
		return gate.Reset{Bytes: n}, fmt.Sprintf("resets connections after %d bytes of answers to", n)
	})
}
