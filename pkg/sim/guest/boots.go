package guest

import (
	"container/heap"
	"sync"
	"time"

	"github.com/vmware/govmomi/simulator"
	"github.com/vmware/govmomi/vim25/mo"
	"github.com/vmware/govmomi/vim25/types"

	"github.com/vsphere-sandbox/vsphere-sandbox/internal/notify"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/sim/internal/vc"
)

// step is the next step of a guest.
type step int

const (
	stepTools     step = iota // its tools run
	stepAddresses             // it has its name and addresses
	stepShutdown              // it powers its VM off
	stepStandby               // it suspends its VM
)

// boot is a scheduled step of a guest.
type boot struct {
	ref   vc.Ref
	step  step
	cycle uint64
	cause uint64
	due   time.Time
}

// boots runs scheduled steps on one goroutine.
type boots struct {
	run func(boot)

	mu     sync.Mutex
	queue  bootQueue
	latest map[vc.Ref]uint64 // the cycle of the valid boot of a VM
	wake   chan struct{}     // holds one token after a change of the queue

	stop     chan struct{}
	stopOnce sync.Once
	done     chan struct{}
}

func startBoots(run func(boot)) *boots {
	b := &boots{
		run:    run,
		latest: make(map[vc.Ref]uint64),
		wake:   make(chan struct{}, 1),
		stop:   make(chan struct{}),
		done:   make(chan struct{}),
	}
	go b.loop()
	return b
}

// add never blocks: it is called with a VM's lock held.
func (b *boots) add(next boot) {
	b.mu.Lock()
	defer b.mu.Unlock()
	heap.Push(&b.queue, next)
	b.latest[next.ref] = next.cycle
	notify.Wake(b.wake)
}

// cancel cancels the boot of a VM.
func (b *boots) cancel(ref vc.Ref) {
	b.mu.Lock()
	defer b.mu.Unlock()
	delete(b.latest, ref)
}

func (b *boots) close() {
	b.stopOnce.Do(func() { close(b.stop) })
	<-b.done
}

func (b *boots) loop() {
	defer close(b.done)
	timer := time.NewTimer(0)
	defer timer.Stop()
	for {
		select {
		case <-b.stop:
			return
		default:
		}
		next, wait := b.next()
		if next != nil {
			b.run(*next)
			continue
		}
		timer.Reset(wait)
		select {
		case <-b.stop:
			return
		case <-b.wake:
		case <-timer.C:
		}
	}
}

// next removes and returns a due step, or returns the time until the next one.
func (b *boots) next() (*boot, time.Duration) {
	b.mu.Lock()
	defer b.mu.Unlock()
	for len(b.queue) > 0 {
		if wait := time.Until(b.queue[0].due); wait > 0 {
			return nil, wait
		}
		due := heap.Pop(&b.queue).(boot)
		if cycle, ok := b.latest[due.ref]; ok && cycle == due.cycle {
			delete(b.latest, due.ref)
			return &due, 0
		}
	}
	return nil, time.Hour
}

// bootQueue is a heap by due time.
type bootQueue []boot

func (q bootQueue) Len() int           { return len(q) }
func (q bootQueue) Less(i, j int) bool { return q[i].due.Before(q[j].due) }
func (q bootQueue) Swap(i, j int)      { q[i], q[j] = q[j], q[i] }
func (q *bootQueue) Push(x any)        { *q = append(*q, x.(boot)) }
func (q *bootQueue) Pop() any {
	last := len(*q) - 1
	x := (*q)[last]
	*q = (*q)[:last]
	return x
}

// Slow delays each boot of the VM's guest, from the next one on, until [Guests.Release] with that name.
func (g *Guests) Slow(vm types.ManagedObjectReference, name string, by time.Duration) error {
	return g.with(vm, func(_ *simulator.Context, m *vmState, _ *mo.VirtualMachine) {
		if m.slow == nil {
			m.slow = make(map[string]time.Duration)
		}
		m.slow[name] = by
	})
}

// hurry ends a slow boot; a booting guest starts a usual boot. The caller holds the VM's lock.
func (g *Guests) hurry(m *vmState, name string) {
	if _, ok := m.slow[name]; !ok {
		return
	}
	delete(m.slow, name)
	if m.power == types.VirtualMachinePowerStatePoweredOn && !m.up {
		m.cycle++
		g.schedule(m, m.ref, g.bootDelay(m), 0)
	}
}

// bootDelay returns the duration of the guest's next boot.
func (g *Guests) bootDelay(m *vmState) time.Duration {
	d := g.opts.BootDelay
	for _, by := range m.slow {
		d += by
	}
	return d
}
