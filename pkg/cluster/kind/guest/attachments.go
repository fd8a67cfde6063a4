package guest

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"sync"
	"time"

	"github.com/vsphere-sandbox/vsphere-sandbox/internal/backoff"
	"github.com/vsphere-sandbox/vsphere-sandbox/internal/coded"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/cluster/kind/runtime"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/node"
)

// attachments are the disks that the guest must see. Attach and Detach change them at once. Observations of the VM arrive
// later, and must not undo a newer Attach or Detach.
type attachments struct {
	mu       sync.Mutex
	byVolume map[string]*attachment
	// detached are volumes that observations may still show.
	detached map[string]bool
	withheld bool
	verified bool // the guest was seen to have a plugged disk
}

type attachment struct {
	node.Disk
	seen    bool // an observation has shown it
	plugged bool
}

// ErrNotVisible is returned for a disk that was plugged but is not visible in the container.
var ErrNotVisible = errors.New("the container does not see it")

// Attach shows a disk to the guest: on return it is in the guest's /dev/disk/by-id, or will be after its next start.
// Attach is idempotent. Without Options.Disks it does nothing.
func (m *Guest) Attach(ctx context.Context, d node.Disk) error {
	if m.opts.Disks == nil {
		return nil
	}
	p := &m.attached
	p.mu.Lock()
	p.init()
	delete(p.detached, d.VolumeID)
	a, known := p.byVolume[d.VolumeID]
	if !known {
		a = &attachment{Disk: d}
		p.byVolume[d.VolumeID] = a
	}
	withheld := p.withheld
	p.mu.Unlock()
	if withheld {
		return nil
	}
	err := m.plug(ctx, a)
	if err == nil {
		err = m.verify(ctx, d)
	}
	if err != nil && known {
		return err // it may be in use since an earlier call
	}
	if err != nil {
		p.mu.Lock()
		delete(p.byVolume, d.VolumeID)
		p.mu.Unlock()
		return errors.Join(err, m.opts.Disks.Unplug(context.WithoutCancel(ctx), m.opts.ByID, d))
	}
	return nil
}

// Detach removes a disk from the guest, even if it is mounted: the guest then gets I/O errors. A missing disk is no error.
func (m *Guest) Detach(ctx context.Context, d node.Disk) error {
	if m.opts.Disks == nil {
		return nil
	}
	p := &m.attached
	p.mu.Lock()
	p.init()
	p.detached[d.VolumeID] = true
	delete(p.byVolume, d.VolumeID)
	p.mu.Unlock()
	return m.opts.Disks.Unplug(ctx, m.opts.ByID, d)
}

// Resize updates the size of a disk in the guest.
func (m *Guest) Resize(ctx context.Context, d node.Disk) error {
	if m.opts.Disks == nil {
		return nil
	}
	return m.opts.Disks.Resize(ctx, d)
}

// Flush writes the kernel's dirty pages of a disk to its volume.
func (m *Guest) Flush(ctx context.Context, d node.Disk) error {
	if m.opts.Disks == nil {
		return nil
	}
	return m.opts.Disks.Flush(ctx, d)
}

// WithholdLinks hides new disks from the guest, as a VM without disk.EnableUUID does, or shows the hidden ones again.
// Disks that the guest already sees stay.
func (m *Guest) WithholdLinks(withheld bool) {
	m.attached.mu.Lock()
	m.attached.withheld = withheld
	m.attached.mu.Unlock()
	m.change(func() {})
}

func (p *attachments) init() {
	if p.byVolume == nil {
		p.byVolume, p.detached = map[string]*attachment{}, map[string]bool{}
	}
}

// newGuest resets what is known of the previous guest.
func (p *attachments) newGuest() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.verified = false
}

// plug shows a disk to the guest, and reverts that if the disk was detached during the call: no later step would.
func (m *Guest) plug(ctx context.Context, a *attachment) error {
	if err := m.opts.Disks.Plug(ctx, m.opts.ByID, a.Disk); err != nil {
		return err
	}
	p := &m.attached
	p.mu.Lock()
	current := p.byVolume[a.VolumeID]
	a.plugged = current == a
	p.mu.Unlock()
	if current != nil { // this disk, or the same volume attached again at the same path
		return nil
	}
	return m.opts.Disks.Unplug(context.WithoutCancel(ctx), m.opts.ByID, a.Disk)
}

// verify runs Check in the guest, once after each start: the container runtime may be remote, or the folder may not be
// mounted.
func (m *Guest) verify(ctx context.Context, d node.Disk) error {
	m.attached.mu.Lock()
	verified := m.attached.verified
	m.attached.mu.Unlock()
	argv := m.opts.Disks.Check(d)
	if p, _, _ := m.State(); verified || p != node.Running || len(argv) == 0 {
		return nil
	}
	err := m.opts.Runtime.Exec(ctx, m.opts.Container, nil, nil, nil, argv...)
	switch {
	case err == nil:
		m.attached.mu.Lock()
		m.attached.verified = true
		m.attached.mu.Unlock()
		return nil
	case runtime.Status(err) < 0, coded.Is(err, runtime.ContainerStopped), coded.Is(err, runtime.ContainerMissing):
		return ctx.Err() // no guest runs
	}
	return fmt.Errorf("disk of volume %s: %w; is the container runtime's daemon on this host, and %s mounted at the container's /dev/disk/by-id? (%w)",
		d.VolumeID, ErrNotVisible, m.opts.ByID, err)
}

// reconcileDisks brings the disks in line with the VM. It returns false if the caller must retry.
func (m *Guest) reconcileDisks(ctx context.Context, c *container) bool {
	if m.opts.Disks == nil {
		return true
	}
	in, out := m.attached.observe(m.wanted(c.boot))
	var errs []error
	for _, d := range out {
		if err := m.opts.Disks.Unplug(ctx, m.opts.ByID, d); err != nil {
			errs = append(errs, err)
			m.attached.keep(d)
		}
	}
	for _, a := range in {
		errs = append(errs, m.plug(ctx, a))
	}
	err := errors.Join(errs...)
	if ctx.Err() == nil {
		c.notice("disks", err)
	}
	return err == nil
}

// observe takes over an observation and returns the disks to plug and to unplug.
func (p *attachments) observe(w wanted) (in []*attachment, out []node.Disk) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if !w.existed {
		return nil, nil
	}
	p.init()
	shown := map[string]bool{}
	if w.Exists {
		for _, d := range w.Disks {
			if d.VolumeID == "" {
				continue
			}
			shown[d.VolumeID] = true
			if a := p.byVolume[d.VolumeID]; a != nil {
				a.seen = true
			} else if !p.detached[d.VolumeID] {
				p.byVolume[d.VolumeID] = &attachment{Disk: d, seen: true}
			}
		}
	}
	for id := range p.detached {
		if !shown[id] {
			delete(p.detached, id)
		}
	}
	for id, a := range p.byVolume {
		switch {
		case !shown[id] && (a.seen || !w.Exists):
			out = append(out, a.Disk)
			delete(p.byVolume, id)
		case !a.plugged && a.seen && !p.withheld: // Attach plugs the others
			in = append(in, a)
		}
	}
	return in, out
}

// keep remembers a disk whose Unplug failed, unless it was attached again since.
func (p *attachments) keep(d node.Disk) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.byVolume[d.VolumeID] == nil {
		p.byVolume[d.VolumeID] = &attachment{Disk: d, seen: true, plugged: true}
	}
}

func (m *Guest) detachAll(ctx context.Context) error {
	if m.opts.Disks == nil {
		return nil
	}
	p := &m.attached
	p.mu.Lock()
	var all []node.Disk
	for _, a := range p.byVolume {
		all = append(all, a.Disk)
	}
	p.byVolume = nil
	p.mu.Unlock()
	var errs []error
	for _, d := range all {
		errs = append(errs, m.opts.Disks.Unplug(ctx, m.opts.ByID, d))
	}
	return errors.Join(errs...)
}

// Events is the part of a container runtime that a [Watch] uses.
type Events interface {
	Events(ctx context.Context, label, value string, since time.Time, got func(runtime.Event)) error
}

var _ Events = (*runtime.Runtime)(nil)

// Watch follows the events of a cluster's containers, with one process of the runtime's command, and wakes their
// Machines. Create it with [NewWatch] and call [Watch.Run] in a goroutine.
type Watch struct {
	events       Events
	label, value string

	mu          sync.Mutex
	last        int
	subscribers map[int]subscriber
}

type subscriber struct {
	container string
	wake      func()
}

// NewWatch returns a Watch for the containers that have the label with this value.
func NewWatch(events Events, label, value string) *Watch {
	return &Watch{events: events, label: label, value: value, subscribers: map[int]subscriber{}}
}

// healthy is the time after which a stream of events, or a container, counts as not failed at once.
const healthy = 30 * time.Second

// Run follows events until ctx ends. When the stream ends, as with a stopped daemon, it retries with a back-off and wakes
// all Machines, since all containers may have changed.
func (w *Watch) Run(ctx context.Context) {
	failures, since := 0, time.Now()
	for {
		began := time.Now()
		_ = w.events.Events(ctx, w.label, w.value, since, w.got) // the Machines see the cause when they inspect
		since = time.Now()
		if since.Sub(began) >= healthy {
			failures = 0
		}
		w.notify("")
		failures++
		if backoff.Sleep(ctx, retries().After(failures)) != nil {
			return
		}
	}
}

// got wakes the Guest of an event that changes a container's state; exec events, among others, do not.
func (w *Watch) got(e runtime.Event) {
	if slices.Contains([]string{"start", "die", "died", "stop", "pause", "unpause", "destroy", "remove", "oom"}, e.Action) {
		w.notify(e.Container)
	}
}

// notify wakes the subscribers of a container; empty means all.
func (w *Watch) notify(container string) {
	w.mu.Lock()
	all := slices.Collect(maps.Values(w.subscribers))
	w.mu.Unlock()
	for _, s := range all {
		if container == "" || container == s.container {
			s.wake()
		}
	}
}

// add subscribes to a container's events until forget is called.
func (w *Watch) add(container string, wake func()) (forget func()) {
	if w == nil {
		return func() {}
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	w.last++
	id := w.last
	w.subscribers[id] = subscriber{container, wake}
	return func() {
		w.mu.Lock()
		defer w.mu.Unlock()
		delete(w.subscribers, id)
	}
}
