package intent

import (
	"context"

	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/sandbox/api"
)

// Action is an intent that changes something in a sandbox.
type Action interface {
	Intent
	// Args are the command line that does the same, without the name of the program and of the sandbox.
	Args() []string
	// Danger is the question to be asked before: "Destroy VM worker-1? Its disks go with it." "" needs none.
	Danger() string
	// Do does it, and says what was done.
	Do(ctx context.Context, s Sandbox) (string, error)
}

// Sandbox is where actions are done: an [api.Client].
type Sandbox interface {
	VM(ctx context.Context, r api.VMRequest) (api.Done, error)
	Gate(ctx context.Context, r api.GateRequest) (api.Done, error)
	Volume(ctx context.Context, r api.VolumeRequest) (api.Done, error)
	OutOfService(ctx context.Context, r api.OutOfServiceRequest) (api.Done, error)
	Inject(ctx context.Context, r api.InjectRequest) (api.Lease, error)
	Heal(ctx context.Context, r api.HealRequest) ([]api.Lease, error)
	RestartCCM(ctx context.Context) (api.Done, error)
}

// The actions.
type (
	// VM does something to a VM.
	VM struct{ api.VMRequest }
	// Gate sets what clients get of a vCenter.
	Gate struct{ api.GateRequest }
	// Volume does something to a volume in vSphere.
	Volume struct{ api.VolumeRequest }
	// OutOfService taints a node, or takes the taint away.
	OutOfService struct{ api.OutOfServiceRequest }
	// Inject breaks something.
	Inject struct{ api.InjectRequest }
	// Heal ends faults.
	Heal struct{ api.HealRequest }
	// RestartCCM starts the cloud controller manager anew.
	RestartCCM struct{}
)

func (VM) intent()           {}
func (Gate) intent()         {}
func (Volume) intent()       {}
func (OutOfService) intent() {}
func (Inject) intent()       {}
func (Heal) intent()         {}
func (RestartCCM) intent()   {}
