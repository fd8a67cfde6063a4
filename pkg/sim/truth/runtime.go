package truth

import (
	"github.com/vmware/govmomi/simulator"
	"github.com/vmware/govmomi/vim25/mo"
	"github.com/vmware/govmomi/vim25/types"

	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/sim/internal/vc"
)

// runtimes sets the enums of a VM's runtime that a vCenter always sets and vcsim leaves empty: pyvmomi cannot decode the runtime
// of a VM without them.
type runtimes struct{ ref vc.Ref }

func newRuntimes(base *simulator.Context) *runtimes {
	r := &runtimes{ref: vc.Ref{Type: "SandboxRuntimes", Value: "sandbox-runtimes"}}
	for _, vm := range base.Map.All("VirtualMachine") {
		vc.Fresh(base).WithLock(vm, func() { r.PutObject(base, vm) })
	}
	return r
}

// Reference implements simulator.RegisterObject.
func (r *runtimes) Reference() vc.Ref { return r.ref }

// PutObject implements simulator.RegisterObject: the VM is locked, or not shared yet.
func (r *runtimes) PutObject(_ *simulator.Context, obj mo.Reference) {
	vm, ok := obj.(*simulator.VirtualMachine)
	if !ok {
		return
	}
	for _, is := range []*types.VirtualMachineRuntimeInfo{&vm.Runtime, &vm.Summary.Runtime} {
		if is.FaultToleranceState == "" {
			is.FaultToleranceState = types.VirtualMachineFaultToleranceStateNotConfigured
		}
		if is.RecordReplayState == "" {
			is.RecordReplayState = types.VirtualMachineRecordReplayStateInactive
		}
	}
}

// UpdateObject implements simulator.RegisterObject.
func (r *runtimes) UpdateObject(*simulator.Context, mo.Reference, []types.PropertyChange) {}

// RemoveObject implements simulator.RegisterObject.
func (r *runtimes) RemoveObject(*simulator.Context, vc.Ref) {}
