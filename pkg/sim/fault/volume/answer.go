package volume

import (
	cnstypes "github.com/vmware/govmomi/cns/types"
	"github.com/vmware/govmomi/vim25/types"

	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/sim/cns"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/sim/fault"
)

// The answers that a call of CNS can end in. All but the last are in the results of a task that succeeds, where CNS tells
// what it cannot do.
const (
	inUse        = "in-use"
	notSupported = "not-supported"
	cnsFault     = "cns-fault"
	noPermission = "no-permission"
	invalidState = "invalid-state"
	taskFault    = "task-fault"
)

// answered is the parameter that chooses one of them; the first is the default.
func answered(choices ...string) fault.Param {
	return fault.Param{Name: "answer", Short: "what it ends in", Type: fault.Text, Default: choices[0], Choices: choices}
}

// call is what a kind makes fail.
type call struct {
	method string
	// fails begins the reason of a CnsFault, as vCenter words it; privilege is what is lacking for it.
	fails, privilege string
}

// answer completes a rule with what calls end in.
func (m call) answer(r *cns.Rule, name string) {
	switch name {
	case inUse:
		r.Fault = &types.ResourceInUse{Name: "volume"}
	case notSupported:
		r.Fault = new(types.NotSupported)
	case noPermission:
		r.Fault = &types.NoPermission{PrivilegeId: m.privilege}
	case invalidState:
		r.Fault = new(types.InvalidState)
	case taskFault:
		r.TaskFault = &types.SystemError{Reason: "CNS: " + m.fails + ": the service is not ready"}
	default:
		r.Fault = &cnstypes.CnsFault{Reason: "CNS: " + m.fails + ": VSLM task failed"}
	}
}
