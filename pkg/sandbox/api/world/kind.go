package world

import (
	"reflect"

	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/sandbox/api"
)

// Kind is a kind of rows, in the word that scenarios have for it.
type Kind string

// The kinds. Events are no rows, but change the world, too.
const (
	Node       Kind = "node"
	VM         Kind = "vm"
	Host       Kind = "host"
	VCenter    Kind = "vcenter"
	Component  Kind = "component"
	Lease      Kind = "lease"
	Volume     Kind = "volume"
	Attachment Kind = "attachment"
	Service    Kind = "service"
	Event      Kind = "event"

	VirtualMachine        Kind = "virtualmachine"
	VirtualMachineService Kind = "virtualmachineservice"
)

// Kinds lists those that have rows.
func Kinds() []Kind {
	return []Kind{Node, VM, Host, VCenter, Component, Lease, Volume, Attachment, Service, VirtualMachine, VirtualMachineService}
}

// typ is what the rows of a kind are; nil for others.
func (k Kind) typ() reflect.Type {
	switch k {
	case Node:
		return reflect.TypeFor[api.Node]()
	case VM:
		return reflect.TypeFor[api.VM]()
	case Host:
		return reflect.TypeFor[api.Host]()
	case VCenter:
		return reflect.TypeFor[api.VCenter]()
	case Component:
		return reflect.TypeFor[api.Component]()
	case Lease:
		return reflect.TypeFor[api.Lease]()
	case Volume:
		return reflect.TypeFor[api.Volume]()
	case Attachment:
		return reflect.TypeFor[api.Attachment]()
	case Service:
		return reflect.TypeFor[api.Service]()
	case VirtualMachine:
		return reflect.TypeFor[api.VirtualMachine]()
	case VirtualMachineService:
		return reflect.TypeFor[api.VirtualMachineService]()
	}
	return nil
}
