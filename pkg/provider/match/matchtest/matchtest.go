// Package matchtest is a table of Nodes with the VM that the cloud provider binds each to. Tests of the provider and of
// everything that reports about it check their code with each row.
package matchtest

import (
	"cmp"
	_ "embed"
	"strings"

	"go.yaml.in/yaml/v3"
	corev1 "k8s.io/api/core/v1"
	cloudproviderapi "k8s.io/cloud-provider/api"
)

// Row is a Node and some VMs.
type Row struct {
	Name string
	Node Node
	VMs  []VM
	// Out is the name of a vCenter that cannot be queried.
	Out string
	// VM is the name of the Node's VM. If empty, Reason is why no VM is bound.
	VM, Reason string
	// By is the deciding key.
	By string
	// Stale is the VM with the system UUID if that is not the providerID's.
	Stale string
	// Driver is the VM for the CSI driver if that differs from VM; "none" for no VM.
	Driver string
}

// Node is what identifies the VM of a Node.
type Node struct {
	Name       string
	ProviderID string `yaml:"providerID"`
	SystemUUID string `yaml:"systemUUID"`
	HostName   string `yaml:"hostname"`
	InternalIP string `yaml:"internalIP"`
	ExternalIP string `yaml:"externalIP"`
	ProvidedIP string `yaml:"providedIP"`
}

// VM is a virtual machine as its vCenter reports it.
type VM struct {
	Name, VCenter, UUID, Connection string
	HostName                        string `yaml:"hostname"`
	Addresses                       []string
	Template                        bool
}

//go:embed nodes.yaml
var table string

// Rows returns the table.
func Rows() ([]Row, error) {
	text := strings.NewReplacer(
		"@a~", "04030201-0605-0807-8090-a0b0c0d0e0f0", "@a", "01020304-0506-0708-8090-a0b0c0d0e0f0",
		"@A", "01020304-0506-0708-8090-A0B0C0D0E0F0", "@b", "11121314-1516-1718-8090-a0b0c0d0e0f0",
		"@B", "11121314-1516-1718-8090-A0B0C0D0E0F0", "@none", "ffffffff-0000-0000-0000-000000000001",
	).Replace(table)
	d := yaml.NewDecoder(strings.NewReader(text))
	d.KnownFields(true)
	var rows []Row
	if err := d.Decode(&rows); err != nil {
		return nil, err
	}
	for i := range rows {
		r := &rows[i]
		if r.VM != "" {
			r.Reason = "found"
		}
		if r.VMs == nil {
			r.VMs = []VM{
				{Name: "one", UUID: "01020304-0506-0708-8090-a0b0c0d0e0f0", HostName: "n1", Addresses: []string{"192.0.2.1"}},
				{Name: "two", UUID: "11121314-1516-1718-8090-a0b0c0d0e0f0", HostName: "n2.example.org", Addresses: []string{"192.0.2.2"}},
			}
		}
		for j := range r.VMs {
			vm := &r.VMs[j]
			vm.VCenter = cmp.Or(vm.VCenter, "us")
			vm.Connection = cmp.Or(vm.Connection, "connected")
		}
	}
	return rows, nil
}

// Kube returns the Node object.
func (n Node) Kube() *corev1.Node {
	k := &corev1.Node{}
	k.Name, k.Spec.ProviderID, k.Status.NodeInfo.SystemUUID = n.Name, n.ProviderID, n.SystemUUID
	for _, a := range []corev1.NodeAddress{
		{Type: corev1.NodeHostName, Address: n.HostName},
		{Type: corev1.NodeInternalIP, Address: n.InternalIP},
		{Type: corev1.NodeExternalIP, Address: n.ExternalIP},
	} {
		if a.Address != "" {
			k.Status.Addresses = append(k.Status.Addresses, a)
		}
	}
	if n.ProvidedIP != "" {
		k.Annotations = map[string]string{cloudproviderapi.AnnotationAlphaProvidedIPAddr: n.ProvidedIP}
	}
	return k
}
