package machine

import (
	"context"
	"errors"
	"fmt"
	"sync"

	"github.com/vsphere-sandbox/vsphere-sandbox/internal/coded"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/cluster/kind/runtime"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/node"
)

// plugs are the disks that the guest is to see. Whoever attaches one tells by Attach and Detach, at once; observations of the VM
// tell too, some time later, and do not undo what was told since.
type plugs struct {
	mu sync.Mutex
	by map[string]*plug // by volume
	// gone are volumes that were detached and that observations may show still.
	gone     map[string]bool
	withheld bool
	proven   bool // that the guest sees what is plugged
}

// plug is one disk.
type plug struct {
	node.Disk
	seen bool // an observation has shown it
	in   bool
}

// ErrUnseen is returned for a disk that was plugged and that the container does not have.
var ErrUnseen = errors.New("the container does not see it")

// Attach has the guest see a disk when it returns, in its /dev/disk/by-id; one that does not run sees it from its next start on.
// Again is harmless. Without Options.Disks there is nothing to do.
func (m *Machine) Attach(ctx context.Context, d node.Disk) error {
	if m.opts.Disks == nil {
		return nil
	}
	p := &m.plugs
	p.mu.Lock()
	p.init()
	delete(p.gone, d.VolumeID)
	is, again := p.by[d.VolumeID]
	if !again {
		is = &plug{Disk: d}
		p.by[d.VolumeID] = is
	}
	withheld := p.withheld
	p.mu.Unlock()
	if withheld {
		return nil
	}
	err := m.plugIn(ctx, is)
	if err == nil {
		err = m.prove(ctx, d)
	}
	if err != nil && again {
		return err // it may be in use since an earlier call
	}
	if err != nil {
		p.mu.Lock()
		delete(p.by, d.VolumeID)
		p.mu.Unlock()
		return errors.Join(err, m.opts.Disks.Unplug(context.WithoutCancel(ctx), m.opts.ByID, d))
	}
	return nil
}

// Detach takes a disk from the guest, whatever that does with it: one that has it mounted gets errors from then on. One that is
// not there is no error.
func (m *Machine) Detach(ctx context.Context, d node.Disk) error {
	if m.opts.Disks == nil {
		return nil
	}
	p := &m.plugs
	p.mu.Lock()
	p.init()
	p.gone[d.VolumeID] = true
	delete(p.by, d.VolumeID)
	p.mu.Unlock()
	return m.opts.Disks.Unplug(ctx, m.opts.ByID, d)
}

// Resize has the guest see how large a disk is by now.
func (m *Machine) Resize(ctx context.Context, d node.Disk) error {
	if m.opts.Disks == nil {
		return nil
	}
	return m.opts.Disks.Resize(ctx, d)
}

// Flush has all that the guest has written to a disk be in the volume, as far as the kernel has it.
func (m *Machine) Flush(ctx context.Context, d node.Disk) error {
	if m.opts.Disks == nil {
		return nil
	}
	return m.opts.Disks.Flush(ctx, d)
}

// WithholdLinks has no disk that comes appear in the guest any more, as in a VM without disk.EnableUUID, whose guest cannot tell
// disks apart; or ends that, and those that are missing appear. Those that are there stay.
func (m *Machine) WithholdLinks(withheld bool) {
	m.plugs.mu.Lock()
	m.plugs.withheld = withheld
	m.plugs.mu.Unlock()
	m.change(func() {})
}

func (p *plugs) init() {
	if p.by == nil {
		p.by, p.gone = map[string]*plug{}, map[string]bool{}
	}
}

// newGuest forgets that a guest has seen disks: it is another.
func (p *plugs) newGuest() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.proven = false
}

// plugIn has the guest see a disk, unless it is detached meanwhile: then nobody would take it off any more.
func (m *Machine) plugIn(ctx context.Context, is *plug) error {
	if err := m.opts.Disks.Plug(ctx, m.opts.ByID, is.Disk); err != nil {
		return err
	}
	p := &m.plugs
	p.mu.Lock()
	now := p.by[is.VolumeID]
	is.in = now == is
	p.mu.Unlock()
	if now != nil { // this one, or one that was attached anew, and has the disk in the same place
		return nil
	}
	return m.opts.Disks.Unplug(context.WithoutCancel(ctx), m.opts.ByID, is.Disk)
}

// prove asks the guest, once each time it has been started, whether it sees a disk: the container runtime may be on another
// machine, or the container may not have the folder.
func (m *Machine) prove(ctx context.Context, d node.Disk) error {
	m.plugs.mu.Lock()
	proven := m.plugs.proven
	m.plugs.mu.Unlock()
	argv := m.opts.Disks.Check(d)
	if p, _, _ := m.State(); proven || p != node.Running || len(argv) == 0 {
		return nil
	}
	err := m.opts.Runtime.Exec(ctx, m.opts.Container, nil, nil, nil, argv...)
	switch {
	case err == nil:
		m.plugs.mu.Lock()
		m.plugs.proven = true
		m.plugs.mu.Unlock()
		return nil
	case runtime.Status(err) < 0, coded.Is(err, runtime.ContainerStopped), coded.Is(err, runtime.ContainerMissing):
		return ctx.Err() // there was nobody to ask
	}
	return fmt.Errorf("disk of volume %s: %w: is the container runtime's daemon on this machine, and %s the container's /dev/disk/by-id? (%w)",
		d.VolumeID, ErrUnseen, m.opts.ByID, err)
}

// plugAll brings the disks in line with the VM's; false means to try again in a while.
func (m *Machine) plugAll(ctx context.Context, b *box) bool {
	if m.opts.Disks == nil {
		return true
	}
	in, out := m.plugs.follow(m.wanted(b.time))
	var errs []error
	for _, d := range out {
		if err := m.opts.Disks.Unplug(ctx, m.opts.ByID, d); err != nil {
			errs = append(errs, err)
			m.plugs.keep(d)
		}
	}
	for _, is := range in {
		errs = append(errs, m.plugIn(ctx, is))
	}
	err := errors.Join(errs...)
	if ctx.Err() == nil {
		b.notice("disks", err)
	}
	return err == nil
}

// follow takes over what an observation tells, and returns the disks to plug and those to unplug.
func (p *plugs) follow(w wanted) (in []*plug, out []node.Disk) {
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
			if is := p.by[d.VolumeID]; is != nil {
				is.seen = true
			} else if !p.gone[d.VolumeID] {
				p.by[d.VolumeID] = &plug{Disk: d, seen: true}
			}
		}
	}
	for id := range p.gone {
		if !shown[id] {
			delete(p.gone, id)
		}
	}
	for id, is := range p.by {
		switch {
		case !shown[id] && (is.seen || !w.Exists):
			out = append(out, is.Disk)
			delete(p.by, id)
		case !is.in && is.seen && !p.withheld: // one that is being attached is not shown yet, as a rule; twice is harmless
			in = append(in, is)
		}
	}
	return in, out
}

// keep remembers a disk that could not be taken off, unless it was attached anew meanwhile.
func (p *plugs) keep(d node.Disk) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.by[d.VolumeID] == nil {
		p.by[d.VolumeID] = &plug{Disk: d, seen: true, in: true}
	}
}

// unplugAll takes all disks off.
func (m *Machine) unplugAll(ctx context.Context) error {
	if m.opts.Disks == nil {
		return nil
	}
	p := &m.plugs
	p.mu.Lock()
	var all []node.Disk
	for _, is := range p.by {
		all = append(all, is.Disk)
	}
	p.by = nil
	p.mu.Unlock()
	var errs []error
	for _, d := range all {
		errs = append(errs, m.opts.Disks.Unplug(ctx, m.opts.ByID, d))
	}
	return errors.Join(errs...)
}
