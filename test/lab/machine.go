package lab

import (
	"context"
	"fmt"

	"github.com/vmware/govmomi/object"

	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/topology"
)

// Machine is a VM that can become a node. Its methods may be called from any goroutine.
type Machine struct {
	// VMRef is the VM in the topology.
	topology.VMRef
	// Name is that of the node: the guest's hostname.
	Name string
	// UUID is the BIOS UUID, in lower case.
	UUID string
	// Place is the region and zone that the node should have.
	topology.Place

	l *Lab
}

// Machines are the VMs that the topology says are nodes, in its order.
func (l *Lab) Machines() []*Machine { return append([]*Machine(nil), l.machines...) }

// Machine is the one of that name.
func (l *Lab) Machine(name string) *Machine {
	l.t.Helper()
	m := l.byName[name]
	if m == nil {
		l.t.Fatalf("no machine %q", name)
	}
	return m
}

func (l *Lab) findMachines() {
	top := l.Topology()
	for _, ref := range top.Nodes() {
		m := &Machine{VMRef: ref, Name: ref.VM.Hostname, UUID: ref.VM.UUID, Place: top.Place(ref), l: l}
		l.machines, l.byName[m.Name] = append(l.machines, m), m
	}
}

// Object looks up the VM, for method calls as the lab's operator.
func (m *Machine) Object(ctx context.Context) (*object.VirtualMachine, error) {
	client := m.l.operators[m.VCenter.Name].client.Client
	ref, err := object.NewSearchIndex(client).FindByInventoryPath(ctx, m.InventoryPath())
	if err != nil {
		return nil, fmt.Errorf("vm %s: %w", m.Name, err)
	}
	vm, ok := ref.(*object.VirtualMachine)
	if !ok {
		return nil, fmt.Errorf("vm %s: not at %s", m.Name, m.InventoryPath())
	}
	return vm, nil
}

// PowerOff powers the VM off hard. The kubelet notices that automatically.
func (m *Machine) PowerOff(ctx context.Context) error {
	return m.task(ctx, "power off", (*object.VirtualMachine).PowerOff)
}

// PowerOn powers it on again; its kubelet comes back with it.
func (m *Machine) PowerOn(ctx context.Context) error {
	return m.task(ctx, "power on", (*object.VirtualMachine).PowerOn)
}

// Suspend suspends it.
func (m *Machine) Suspend(ctx context.Context) error {
	return m.task(ctx, "suspend", (*object.VirtualMachine).Suspend)
}

// Destroy powers it off if it is on, and deletes it.
func (m *Machine) Destroy(ctx context.Context) error {
	vm, err := m.Object(ctx)
	if err != nil {
		return err
	}
	power, err := vm.PowerState(ctx)
	if err != nil {
		return fmt.Errorf("vm %s: %w", m.Name, err)
	}
	if power != "poweredOff" {
		if err := m.PowerOff(ctx); err != nil {
			return err
		}
	}
	return m.task(ctx, "destroy", func(vm *object.VirtualMachine, ctx context.Context) (*object.Task, error) { return vm.Destroy(ctx) })
}

func (m *Machine) task(ctx context.Context, what string, start func(*object.VirtualMachine, context.Context) (*object.Task, error)) error {
	vm, err := m.Object(ctx)
	if err != nil {
		return err
	}
	task, err := start(vm, ctx)
	if err == nil {
		err = task.Wait(ctx)
	}
	if err != nil {
		return fmt.Errorf("vm %s: %s: %w", m.Name, what, err)
	}
	return nil
}
