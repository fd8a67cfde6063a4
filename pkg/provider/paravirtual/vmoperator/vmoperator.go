// Package vmoperator has the fields of VM Operator's resources that a cloud provider reads and writes. They have the same
// names in v1alpha2 and all later versions. VM Operator's own module is not used: it depends on controller-runtime.
//
// Floor 1: beside pkg/provider, which it does not import.
package vmoperator

import (
	"encoding/json"
	"fmt"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/provider/match"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/provider/paravirtual/supervisor"
)

const (
	group = "vmoperator.vmware.com"
	// DefaultVersion is the version that upstream's v1.36.0 asks for.
	DefaultVersion = "v1alpha2"
)

// Labels of VirtualMachineServices, which are upstream's (vsphereparavirtual/vmservice): the guest cluster and the Service in it.
const (
	LabelCluster          = "run.tanzu.vmware.com/cluster.name"
	LabelService          = "run.tanzu.vmware.com/service.name"
	LabelServiceNamespace = "run.tanzu.vmware.com/service.namespace"
)

// VirtualMachines returns the resource of [VirtualMachine].
func VirtualMachines(version string) supervisor.Resource {
	return supervisor.Resource{Group: group, Version: version, Name: "virtualmachines"}
}

// VirtualMachineServices returns the resource of [VirtualMachineService].
func VirtualMachineServices(version string) supervisor.Resource {
	return supervisor.Resource{Group: group, Version: version, Name: "virtualmachineservices"}
}

// PowerState is what VM Operator observed of a virtual machine; "" if it has not yet.
type PowerState string

// The power states.
const (
	PoweredOff PowerState = "PoweredOff"
	PoweredOn  PowerState = "PoweredOn"
	Suspended  PowerState = "Suspended"
)

// VirtualMachine is a virtual machine of a namespace.
type VirtualMachine struct {
	metav1.ObjectMeta `json:"metadata"`
	Status            VirtualMachineStatus `json:"status"`

	// UUID is the parsed BIOS UUID, zero if VM Operator has not reported one. [VirtualMachine.Prepare] sets it.
	UUID match.UUID `json:"-"`
}

// VirtualMachineStatus is what VM Operator observed.
type VirtualMachineStatus struct {
	PowerState PowerState `json:"powerState"`
	BiosUUID   string     `json:"biosUUID"`
	Zone       string     `json:"zone"`
	Network    struct {
		HostName   string `json:"hostName"`
		PrimaryIP4 string `json:"primaryIP4"`
		PrimaryIP6 string `json:"primaryIP6"`
	} `json:"network"`
}

// String returns the namespace and the name.
func (vm *VirtualMachine) String() string { return vm.Namespace + "/" + vm.Name }

// Prepare parses the UUID, and drops what no caller reads, which is most of an object's size.
func (vm *VirtualMachine) Prepare() {
	vm.ManagedFields, vm.Annotations, vm.OwnerReferences = nil, nil, nil
	vm.UUID, _ = match.ParseUUID(vm.Status.BiosUUID) // zero on an error
}

// Decode returns the VirtualMachine in an answer of the API.
func Decode(data []byte) (*VirtualMachine, error) {
	vm := new(VirtualMachine)
	if err := json.Unmarshal(data, vm); err != nil {
		return nil, fmt.Errorf("VirtualMachine: %w", err)
	}
	vm.Prepare()
	return vm, nil
}

// FromObject returns the VirtualMachine of an object in a generic form.
func FromObject(object map[string]any) (*VirtualMachine, error) {
	data, err := json.Marshal(object)
	if err != nil {
		return nil, fmt.Errorf("VirtualMachine: %w", err)
	}
	return Decode(data)
}

// VirtualMachineService is a load balancer in front of virtual machines.
type VirtualMachineService struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata"`
	Spec              VirtualMachineServiceSpec   `json:"spec"`
	Status            VirtualMachineServiceStatus `json:"status,omitzero"`
}

// VirtualMachineServiceSpec is what the guest cluster wants.
type VirtualMachineServiceSpec struct {
	Type                     string            `json:"type"`
	Ports                    []Port            `json:"ports,omitempty"`
	Selector                 map[string]string `json:"selector,omitempty"`
	LoadBalancerIP           string            `json:"loadBalancerIP,omitempty"`
	LoadBalancerSourceRanges []string          `json:"loadBalancerSourceRanges,omitempty"`
}

// Port is a port of a load balancer. TargetPort is the Service's node port.
type Port struct {
	Name       string `json:"name"`
	Protocol   string `json:"protocol"`
	Port       int32  `json:"port"`
	TargetPort int32  `json:"targetPort"`
}

// VirtualMachineServiceStatus has the addresses of the load balancer.
type VirtualMachineServiceStatus struct {
	LoadBalancer struct {
		Ingress []Ingress `json:"ingress,omitempty"`
	} `json:"loadBalancer"`
}

// Ingress is one address.
type Ingress struct {
	IP       string `json:"ip,omitempty"`
	Hostname string `json:"hostname,omitempty"`
}
