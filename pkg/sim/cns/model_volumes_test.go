package cns_test

import (
	"fmt"
	"testing"

	cnstypes "github.com/vmware/govmomi/cns/types"
	"github.com/vmware/govmomi/simulator"
	"github.com/vmware/govmomi/vim25/soap"

	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/sim/cns"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/sim/internal/vc"
)

// How things end, by the type of the fault.
const (
	notFound     = "*types.NotFound"
	inUse        = "*types.ResourceInUse"
	cnsFault     = "*types.CnsFault"
	invalid      = "*types.InvalidArgument"
	inaccessible = "*types.InaccessibleDatastore"
	powerState   = "*types.InvalidPowerState"
	noVM         = "*types.ManagedObjectNotFound"
	unregistered = "*types.CnsNotRegisteredFault"
	registered   = "*types.CnsAlreadyRegisteredFault"
)

func (m *model) create(t testing.TB) (what, got, want string) {
	if len(m.s.Volumes()) >= most {
		return m.remove(t)
	}
	m.made++
	name := fmt.Sprintf("w%d-v%d", m.worker, m.made)
	var same *modelVolume
	if v := m.mine(); v.known() && m.rnd.IntN(5) == 0 { // the same once more
		name, same = v.name, v
	}
	on := m.s.datastores[m.rnd.IntN(len(m.s.datastores))]
	sp := spec(name, "one", 8+m.rnd.Int64N(8), on)
	r, got := m.run(t, func(ctx *simulator.Context) soap.HasFault {
		return m.s.CnsCreateVolume(ctx, &cnstypes.CnsCreateVolume{CreateSpecs: []cnstypes.CnsVolumeCreateSpec{sp}})
	})
	what = fmt.Sprintf("%s on %s", name, on.Value)
	made := r.GetCnsVolumeOperationResult().VolumeId.Id
	switch {
	case same != nil:
		if got == none && made != same.id {
			return what, "made " + made, same.id
		}
		return what, got, none
	case m.lost[on]:
		want = inaccessible
	default:
		want = none
	}
	if got == none {
		m.volumes[made] = &modelVolume{
			id: made, name: name, datastore: on, registered: true,
			capacity: sp.BackingObjectDetails.GetCnsBackingObjectDetails().CapacityInMb,
		}
	}
	return what, got, want
}

func (m *model) remove(t testing.TB) (what, got, want string) {
	v := m.any()
	_, got = m.run(t, func(ctx *simulator.Context) soap.HasFault {
		return m.s.CnsDeleteVolume(ctx, &cnstypes.CnsDeleteVolume{VolumeIds: []cnstypes.CnsVolumeId{id(v.id)}, DeleteDisk: true})
	})
	switch {
	case !v.known():
		want = notFound
	case v.vm != (vc.Ref{}):
		want = inUse
	case len(v.snapshots) > 0:
		want = cnsFault
	case m.lost[v.datastore]:
		want = inaccessible
	default:
		want = none
	}
	if got == none {
		delete(m.volumes, v.id)
		m.gone = append(m.gone, v.id)
	}
	return v.id, got, want
}

func (m *model) attach(t testing.TB) (what, got, want string) {
	v, vm := m.any(), m.anyVM()
	_, got = m.run(t, func(ctx *simulator.Context) soap.HasFault {
		return m.s.CnsAttachVolume(ctx, &cnstypes.CnsAttachVolume{AttachSpecs: []cnstypes.CnsVolumeAttachDetachSpec{{VolumeId: id(v.id), Vm: vm}}})
	})
	is := m.look(vm)
	switch {
	case !is.there:
		want = noVM
	case !v.known():
		want = notFound
	case v.vm != (vc.Ref{}):
		want = inUse
	case is.disconnected:
		want = cnsFault
	case is.suspended:
		want = powerState
	case !is.reached, m.lost[v.datastore], m.on(vm) >= is.slots:
		want = cnsFault
	default:
		want = none
	}
	if got == none {
		v.vm = vm
	}
	return v.id + " to " + vm.Value, got, want
}

func (m *model) detach(t testing.TB) (what, got, want string) {
	v, vm := m.any(), m.anyVM()
	if v.vm != (vc.Ref{}) && m.rnd.IntN(4) > 0 {
		vm = v.vm
	}
	_, got = m.run(t, func(ctx *simulator.Context) soap.HasFault {
		return m.s.CnsDetachVolume(ctx, &cnstypes.CnsDetachVolume{DetachSpecs: []cnstypes.CnsVolumeAttachDetachSpec{{VolumeId: id(v.id), Vm: vm}}})
	})
	is := m.look(vm)
	switch {
	case !is.there:
		want = noVM
	case !v.known(), v.vm != vm:
		want = notFound
	default:
		want = m.changeable(vm)
	}
	if got == none {
		v.vm = vc.Ref{}
	}
	return v.id + " from " + vm.Value, got, want
}

func (m *model) extend(t testing.TB) (what, got, want string) {
	v := m.any()
	to := v.capacity - 1 + m.rnd.Int64N(4)
	_, got = m.run(t, func(ctx *simulator.Context) soap.HasFault {
		return m.s.CnsExtendVolume(ctx, &cnstypes.CnsExtendVolume{ExtendSpecs: []cnstypes.CnsVolumeExtendSpec{{VolumeId: id(v.id), CapacityInMb: to}}})
	})
	switch {
	case !v.known():
		want = notFound
	case to < v.capacity:
		want = invalid
	case to == v.capacity:
		want = none
	case len(v.snapshots) > 0:
		want = cnsFault
	case m.lost[v.datastore]:
		want = inaccessible
	case v.vm != (vc.Ref{}):
		want = m.changeable(v.vm)
	default:
		want = none
	}
	if got == none {
		v.capacity = to
	}
	return fmt.Sprintf("%s to %d", v.id, to), got, want
}

func (m *model) snapshot(t testing.TB) (what, got, want string) {
	v := m.any()
	r, got := m.run(t, func(ctx *simulator.Context) soap.HasFault {
		return m.s.CnsCreateSnapshots(ctx, &cnstypes.CnsCreateSnapshots{SnapshotSpecs: []cnstypes.CnsSnapshotCreateSpec{{VolumeId: id(v.id)}}})
	})
	switch {
	case !v.known():
		want = notFound
	case len(v.snapshots) >= cns.MaxSnapshots:
		want = cnsFault
	case m.lost[v.datastore]:
		want = inaccessible
	default:
		want = none
	}
	if s, ok := r.(*cnstypes.CnsSnapshotCreateResult); ok && got == none {
		v.snapshots = append(v.snapshots, s.Snapshot.SnapshotId.Id)
	}
	return v.id, got, want
}

func (m *model) deleteSnapshot(t testing.TB) (what, got, want string) {
	v, snapshot := m.any(), "never"
	if len(v.snapshots) > 0 && m.rnd.IntN(10) > 0 {
		snapshot = v.snapshots[m.rnd.IntN(len(v.snapshots))]
	}
	_, got = m.run(t, func(ctx *simulator.Context) soap.HasFault {
		return m.s.CnsDeleteSnapshots(ctx, &cnstypes.CnsDeleteSnapshots{SnapshotDeleteSpecs: []cnstypes.CnsSnapshotDeleteSpec{
			{VolumeId: id(v.id), SnapshotId: cnstypes.CnsSnapshotId{Id: snapshot}},
		}})
	})
	switch {
	case !v.known(), snapshot == "never":
		want = notFound
	case m.lost[v.datastore]:
		want = inaccessible
	default:
		want = none
	}
	if got == none {
		v.snapshots = without(v.snapshots, snapshot)
	}
	return v.id + " " + snapshot, got, want
}

func (m *model) relocate(t testing.TB) (what, got, want string) {
	v, to := m.any(), m.s.datastores[m.rnd.IntN(len(m.s.datastores))]
	_, got = m.run(t, func(ctx *simulator.Context) soap.HasFault {
		return m.s.CnsRelocateVolume(ctx, &cnstypes.CnsRelocateVolume{RelocateSpecs: []cnstypes.BaseCnsVolumeRelocateSpec{
			&cnstypes.CnsBlockVolumeRelocateSpec{CnsVolumeRelocateSpec: cnstypes.CnsVolumeRelocateSpec{VolumeId: id(v.id), Datastore: to}},
		}})
	})
	switch {
	case !v.known():
		want = notFound
	case len(v.snapshots) > 0 && to != v.datastore:
		want = cnsFault
	case m.lost[to], m.lost[v.datastore]:
		want = inaccessible
	case v.vm != (vc.Ref{}):
		want = m.changeable(v.vm)
	default:
		want = none
	}
	if got == none {
		v.datastore = to
	}
	return v.id + " to " + to.Value, got, want
}

func (m *model) unregister(t testing.TB) (what, got, want string) {
	v := m.mine()
	_, got = m.run(t, func(ctx *simulator.Context) soap.HasFault {
		return m.s.CnsUnregisterVolume(ctx, &cnstypes.CnsUnregisterVolume{UnregisterSpec: []cnstypes.CnsUnregisterVolumeSpec{{VolumeId: id(v.id)}}})
	})
	switch {
	case !v.known():
		want = unregistered
	case v.vm != (vc.Ref{}):
		want = inUse
	default:
		want = none
	}
	if got == none {
		v.registered = false
	}
	return v.id, got, want
}

func (m *model) register(t testing.TB) (what, got, want string) {
	v := m.mine()
	for _, id := range m.unregistered() {
		v = m.volumes[id]
	}
	name := v.name
	if name == "" {
		name = "nothing"
	}
	sp := spec(name, "one", 0)
	sp.BackingObjectDetails = &cnstypes.CnsBlockBackingDetails{BackingDiskId: v.id}
	_, got = m.run(t, func(ctx *simulator.Context) soap.HasFault {
		return m.s.CnsCreateVolume(ctx, &cnstypes.CnsCreateVolume{CreateSpecs: []cnstypes.CnsVolumeCreateSpec{sp}})
	})
	switch {
	case v.name == "":
		want = notFound
	case v.registered:
		want = registered
	default:
		want = none
	}
	if got == none {
		v.registered = true
	}
	return v.id, got, want
}

func without(list []string, s string) (rest []string) {
	for _, e := range list {
		if e != s {
			rest = append(rest, e)
		}
	}
	return rest
}
