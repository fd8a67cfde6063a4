package cns_test

import (
	"fmt"
	"testing"

	"github.com/vmware/govmomi/fault"
	"github.com/vmware/govmomi/object"
	"github.com/vmware/govmomi/vim25/types"

	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/sim/internal/vc"
)

// vSphere's messages in the place of CNS's.
const (
	locked       = "*types.FileLocked"
	notConnected = "*types.HostNotConnected"
	noDatastore  = "*types.InvalidDatastore"
	tooMany      = "*types.TooManyDevices"
)

// taskFault is how a call that is none of CNS's ended.
func taskFault(err error) string {
	if err == nil {
		return none
	}
	how := err.Error()
	fault.In(err, func(f types.BaseMethodFault, _ string, _ []types.LocalizableMessage) bool {
		how = fmt.Sprintf("%T", f)
		return true
	})
	return how
}

// attachDisk attaches a volume as the first class disk that it is.
func (m *model) attachDisk(t testing.TB) (what, got, want string) {
	v, vm := m.mine(), m.anyVM()
	if !v.known() {
		return "", none, none
	}
	got = taskFault(object.NewVirtualMachine(m.s.vim, vm).AttachDisk(t.Context(), v.id, object.NewDatastore(m.s.vim, v.datastore), 0, nil))
	is := m.look(vm)
	switch {
	case !is.there:
		want = noVM
	case v.vm != (vc.Ref{}):
		want = locked
	case is.disconnected:
		want = notConnected
	case is.suspended:
		want = powerState
	case !is.reached, m.lost[v.datastore]:
		want = noDatastore
	case m.on(vm) >= is.slots:
		want = tooMany
	default:
		want = none
	}
	if got == none {
		v.vm = vm
	}
	return v.id + " to " + vm.Value, got, want
}

// detachDisk is the inverse of attachDisk.
func (m *model) detachDisk(t testing.TB) (what, got, want string) {
	v, vm := m.mine(), m.anyVM()
	if v.vm != (vc.Ref{}) && m.rnd.IntN(4) > 0 {
		vm = v.vm
	}
	got = taskFault(object.NewVirtualMachine(m.s.vim, vm).DetachDisk(t.Context(), v.id))
	is := m.look(vm)
	switch {
	case !is.there:
		want = noVM
	case !v.known(), v.vm != vm:
		want = notFound
	case is.disconnected:
		want = notConnected
	case is.suspended:
		want = powerState
	default:
		want = none
	}
	if got == none {
		v.vm = vc.Ref{}
	}
	return v.id + " from " + vm.Value, got, want
}
