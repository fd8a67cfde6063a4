package cns_test

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/vmware/govmomi/cns/methods"
	cnstypes "github.com/vmware/govmomi/cns/types"
	"github.com/vmware/govmomi/simulator"
	"github.com/vmware/govmomi/vim25/soap"
	"github.com/vmware/govmomi/vim25/types"

	"github.com/vsphere-sandbox/vsphere-sandbox/internal/race"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/sim/cns"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/sim/internal/vc"
)

// rounds is how many operations a test of the model does.
func rounds() int {
	if testing.Short() {
		return 1000
	}
	return 10000
}

// TestModel does random things one after the other. Each has to end as a simple model of CNS says, and after each the
// invariants hold.
func TestModel(t *testing.T) {
	for _, seed := range []uint64{1, 2} {
		t.Run(fmt.Sprint(seed), func(t *testing.T) {
			s := serve(t, 2, cns.Options{})
			m := newModel(s, &fleet{vms: s.vms}, seed)
			for i := range rounds() / 2 {
				what, got, want := m.step(t)
				if got != want {
					t.Fatalf("operation %d, %s: %s, want %s", i, what, got, want)
				}
				if i%10 == 0 {
					m.check(t)
				}
			}
			m.check(t)
			checkEverything(t, s, m.unregistered())
			for _, op := range m.tallied() {
				t.Log(op)
			}
		})
	}
}

// TestModelTogether runs random concurrent operations; the invariants must hold whenever no operation runs.
func TestModelTogether(t *testing.T) {
	const workers, pauses = 8, 20
	s := serve(t, 4, cns.Options{})
	models := make([]*model, workers)
	machines := &fleet{vms: s.vms}
	for w := range models {
		models[w] = newModel(s, machines, uint64(100+w))
		models[w].worker, models[w].shared = w, true
	}
	for range pauses {
		var wg sync.WaitGroup
		for _, m := range models {
			wg.Go(func() {
				for range rounds() / workers / pauses {
					m.step(t)
				}
			})
		}
		wg.Wait()
		var kept []string
		for _, m := range models {
			kept = append(kept, m.unregistered()...)
		}
		checkEverything(t, s, kept)
		models[0].mounts()
	}
}

// model is CNS as it should be, in one page: volumes, and where they are.
type model struct {
	s       *server
	fleet   *fleet
	rnd     *rand.Rand
	worker  int
	shared  bool                    // others change the volumes too
	volumes map[string]*modelVolume // by id
	gone    []string                // ids of volumes that are no more
	lost    map[vc.Ref]bool         // datastores that no host reaches
	made    int
	tally   map[string]int
}

type modelVolume struct {
	id, name   string
	datastore  vc.Ref
	capacity   int64
	vm         vc.Ref // zero: attached to none
	snapshots  []string
	registered bool
}

func newModel(s *server, f *fleet, seed uint64) *model {
	return &model{
		s: s, fleet: f, rnd: rand.New(rand.NewPCG(seed, seed)), volumes: map[string]*modelVolume{}, lost: map[vc.Ref]bool{}, tally: map[string]int{},
	}
}

const none = "done"

// most is how many volumes there may be.
const most = 200

// step does something random: what it was, how it ended, and how the model says that it has to.
func (m *model) step(t testing.TB) (what, got, want string) {
	ops := []struct {
		name  string
		often int
		do    func(t testing.TB) (what, got, want string)
	}{
		{"create", 20, m.create},
		{"delete", 10, m.remove},
		{"attach", 25, m.attach},
		{"detach", 20, m.detach},
		{"extend", 8, m.extend},
		{"snapshot", 6, m.snapshot},
		{"delete snapshot", 8, m.deleteSnapshot},
		{"relocate", 6, m.relocate},
		{"unregister", 3, m.unregister},
		{"register", 4, m.register},
		{"destroy VM", 1, m.destroyVM},
		{"power", 1, m.power},
		{"host", 1, m.host},
		{"datastore", 1, m.datastore},
		{"remove device", 1, m.removeDevice},
		{"attach disk", 4, m.attachDisk},
		{"detach disk", 3, m.detachDisk},
	}
	total := 0
	for _, op := range ops {
		total += op.often
	}
	n := m.rnd.IntN(total)
	for _, op := range ops {
		if n -= op.often; n < 0 {
			done := m.enter(op.name)
			what, got, want = op.do(t)
			done()
			m.tally[op.name+": "+got]++
			return op.name + " " + what, got, want
		}
	}
	return "", "", ""
}

// enter keeps operations apart that vcsim itself does not: see internal/race. Without the detector all continue at once.
func (m *model) enter(op string) (done func()) {
	switch {
	case !race.Enabled:
		return func() {}
	case op == "destroy VM" || op == "remove device":
		m.fleet.alone.Lock()
		return m.fleet.alone.Unlock
	}
	m.fleet.alone.RLock()
	return m.fleet.alone.RUnlock
}

// tallied is how often each operation ended in which way.
func (m *model) tallied() (lines []string) {
	for what, n := range m.tally {
		lines = append(lines, fmt.Sprintf("%s %d", what, n))
	}
	slices.Sort(lines)
	return lines
}

// unregistered are the ids of disks that CNS knows no longer.
func (m *model) unregistered() (ids []string) {
	for id, v := range m.volumes {
		if !v.registered {
			ids = append(ids, id)
		}
	}
	return ids
}

// any picks a volume, sometimes a deleted one; with several workers mostly one that exists.
func (m *model) any() *modelVolume {
	if all := m.s.Volumes(); m.shared && len(all) > 0 && m.rnd.IntN(3) > 0 {
		v := all[m.rnd.IntN(len(all))]
		return &modelVolume{id: v.ID, name: v.Name, datastore: v.Datastore, capacity: v.CapacityMB, vm: v.VM, registered: true}
	}
	return m.mine()
}

// mine picks a volume that this worker has made.
func (m *model) mine() *modelVolume {
	if len(m.volumes) == 0 || m.rnd.IntN(20) == 0 {
		id := "never"
		if len(m.gone) > 0 {
			id = m.gone[m.rnd.IntN(len(m.gone))]
		}
		return &modelVolume{id: id}
	}
	ids := make([]string, 0, len(m.volumes))
	for id := range m.volumes {
		ids = append(ids, id)
	}
	slices.Sort(ids)
	return m.volumes[ids[m.rnd.IntN(len(ids))]]
}

// known reports whether CNS knows the volume.
func (v *modelVolume) known() bool { return v.name != "" && v.registered }

// run waits for a task of CNS that is about one volume, and returns its result and how it ended.
func (m *model) run(t testing.TB, call func(ctx *simulator.Context) soap.HasFault) (cnstypes.BaseCnsVolumeOperationResult, string) {
	ctx := vc.Fresh(m.s.ctx)
	var ref vc.Ref
	switch b := call(ctx).(type) {
	case *methods.CnsCreateVolumeBody:
		ref = b.Res.Returnval
	case *methods.CnsDeleteVolumeBody:
		ref = b.Res.Returnval
	case *methods.CnsAttachVolumeBody:
		ref = b.Res.Returnval
	case *methods.CnsDetachVolumeBody:
		ref = b.Res.Returnval
	case *methods.CnsExtendVolumeBody:
		ref = b.Res.Returnval
	case *methods.CnsRelocateVolumeBody:
		ref = b.Res.Returnval
	case *methods.CnsCreateSnapshotsBody:
		ref = b.Res.Returnval
	case *methods.CnsDeleteSnapshotBody:
		ref = b.Res.Returnval
	case *methods.CnsUnregisterVolumeBody:
		ref = b.Res.Returnval
	}
	info := ended(ctx, ref)
	if info.Error != nil {
		t.Errorf("%T", info.Error.Fault)
		return new(cnstypes.CnsVolumeOperationResult), ending(info.Error)
	}
	r := info.Result.(*cnstypes.CnsVolumeOperationBatchResult).VolumeResults[0]
	return r, ending(r.GetCnsVolumeOperationResult().Fault)
}

// ended waits for a task, which vcsim's own Wait looks at every 10 ms only.
func ended(ctx *simulator.Context, ref vc.Ref) (info types.TaskInfo) {
	task := ctx.Map.Get(ref).(*simulator.Task)
	for info.State != types.TaskInfoStateSuccess && info.State != types.TaskInfoStateError {
		time.Sleep(20 * time.Microsecond)
		ctx.WithLock(task, func() { info = task.Info })
	}
	return info
}

func ending(f *types.LocalizedMethodFault) string {
	if f == nil {
		return none
	}
	return fmt.Sprintf("%T", f.Fault)
}

func id(id string) cnstypes.CnsVolumeId { return cnstypes.CnsVolumeId{Id: id} }
