package supervisor

import (
	"context"
	"time"

	"github.com/vsphere-sandbox/vsphere-sandbox/internal/notify"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/sandbox/api"
)

// settle is how long changes are collected before the rows are read again.
const settle = 200 * time.Millisecond

// Rows receives the rows of the Supervisor: all VirtualMachines and VirtualMachineServices that there are.
type Rows interface {
	SetVirtualMachines([]api.VirtualMachine)
	SetVirtualMachineServices([]api.VirtualMachineService)
}

// Changed reports that the rows may be old: of the Supervisor, the VMs, or the Nodes that they are.
func (p *Part) Changed() { notify.Wake(p.changes()) }

// changes has an element when the rows may be old.
func (p *Part) changes() chan struct{} {
	p.once.Do(func() { p.changed = make(chan struct{}, 1) })
	return p.changed
}

// follow sets the rows after each change, until ctx ends.
func (p *Part) follow(ctx context.Context) {
	for {
		select {
		case <-ctx.Done():
			return
		case <-p.changes():
		}
		select {
		case <-ctx.Done():
			return
		case <-time.After(settle):
		}
		if err := p.setRows(ctx); err != nil && ctx.Err() == nil {
			p.Logger.Debug("supervisor rows", "err", err)
			p.Changed() // once more after settle
		}
	}
}

func (p *Part) setRows(ctx context.Context) error {
	machines, err := p.Machines()
	if err != nil {
		return err
	}
	p.Rows.SetVirtualMachines(machines)
	services, err := p.Services(ctx)
	if err != nil {
		return err
	}
	p.Rows.SetVirtualMachineServices(services)
	return nil
}
