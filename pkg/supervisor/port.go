package supervisor

import (
	"context"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
)

const (
	// nic is the name of a VM's network adapter, which ends the name of its SubnetPort.
	nic = "eth0"
	// attachedTo is the annotation of a SubnetPort with what it is a port of.
	attachedTo = "nsx.vmware.com/attachment_ref"
)

func portName(vm string) string       { return vm + "-" + nic }
func portAttachment(vm string) string { return "virtualmachine/" + vm + "/" + nic }

// portOf has the SubnetPort of a VirtualMachine handled. In a network without ports it does nothing.
func (s *Supervisor) portOf(o any) {
	if l, vm := s.loop(subnetPorts()), deleted(o); l != nil && vm != nil {
		l.queue.Add(vm.GetNamespace() + "/" + portName(vm.GetName()))
	}
}

// portsOfAll has those of all VirtualMachines handled.
func (s *Supervisor) portsOfAll() error {
	for _, n := range s.opts.Setup.Namespaces {
		all, err := s.list(machines(), n.Name, labels.Everything())
		if err != nil {
			return err
		}
		for _, vm := range all {
			s.portOf(vm)
		}
	}
	return nil
}

// reconcilePort makes the SubnetPort of a VirtualMachine, as VM Operator does in a VPC, and its status, as NSX Operator does. Other
// ports stay as they are.
func (s *Supervisor) reconcilePort(ctx context.Context, key string) error {
	namespace, name := split(key)
	vmName, _ := strings.CutSuffix(name, "-"+nic)
	vm, err := s.get(machines(), namespace+"/"+vmName)
	if err != nil {
		return err
	}
	port, err := s.get(subnetPorts(), key)
	if err != nil {
		return err
	}
	switch {
	case port == nil && vm == nil:
		return nil
	case port == nil:
		made := object(subnetPorts(), "SubnetPort", namespace, name, map[string]any{})
		made.SetAnnotations(map[string]string{attachedTo: portAttachment(vmName)})
		owner := ownerReference(vm)
		owner.Controller, owner.BlockOwnerDeletion = new(true), new(true)
		made.SetOwnerReferences([]metav1.OwnerReference{owner})
		return s.create(ctx, made) // which leads here again
	case port.GetAnnotations()[attachedTo] != portAttachment(vmName):
		return nil
	case vm == nil:
		return client404(s.dynamic.Resource(subnetPorts()).Namespace(namespace).Delete(ctx, name, metav1.DeleteOptions{}))
	}
	return s.realize(ctx, subnetPorts(), port, func(status map[string]any) error {
		status["attachment"] = map[string]any{"id": string(port.GetUID())}
		known, found := s.vmOf(vm)
		if !found || len(known.Addresses) == 0 { // as long as it is off
			return nil
		}
		addresses := make([]any, len(known.Addresses))
		for i, a := range known.Addresses {
			addresses[i] = map[string]any{"ipAddress": a.String()}
		}
		status["networkInterfaceConfig"] = map[string]any{"macAddress": known.MAC, "ipAddresses": addresses}
		return nil
	})
}
