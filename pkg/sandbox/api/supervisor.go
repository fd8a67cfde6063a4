package api

import (
	"cmp"
	"context"
	"slices"
	"strings"
	"time"
)

// VirtualMachine is a VirtualMachine of the Supervisor, with the VM that it is in vSphere and the Node that it is in the guest cluster.
type VirtualMachine struct {
	Name      string `json:"name"`
	Namespace string `json:"namespace"`
	// Guest is the guest cluster that it belongs to, by its label.
	Guest string `json:"guest,omitempty"`
	// VCenter and VM name the VM; "" before it exists.
	VCenter string `json:"vcenter,omitempty"`
	VM      string `json:"vm,omitempty"`
	// MoRef is the VM's reference, by the VirtualMachine's status: as [VM] has it.
	MoRef string `json:"moref,omitempty"`
	// Node is the Node whose VM it is, as the guest cluster's cloud provider decides it; "" for none.
	Node string `json:"node,omitempty"`
	// Power is the observed power state, WantedPower that of the spec: PoweredOn, PoweredOff or Suspended.
	Power       string      `json:"power,omitempty"`
	WantedPower string      `json:"wantedPower,omitempty"`
	BIOSUUID    string      `json:"biosUUID,omitempty"`
	Addresses   []string    `json:"addresses,omitempty"` // primary ones, IPv4 first
	Zone        string      `json:"zone,omitempty"`
	Class       string      `json:"class,omitempty"`
	Conditions  []Condition `json:"conditions,omitempty"`
	Deleting    bool        `json:"deleting,omitempty"`
	Created     time.Time   `json:"created,omitzero"`
	// Object is the object as the Supervisor's API has it; nil in an [Update].
	Object map[string]any `json:"object,omitempty"`
}

// PowerChange is the observed power state: PoweredOn. If another one is wanted, both are short: On→Off.
func (m VirtualMachine) PowerChange() string {
	text := cmp.Or(m.Power, "unknown")
	if m.Changing() {
		text = strings.TrimPrefix(text, "Powered") + "→" + strings.TrimPrefix(m.WantedPower, "Powered")
	}
	return text
}

// Changing reports whether the spec wants another power state than the observed one.
func (m VirtualMachine) Changing() bool { return m.WantedPower != "" && m.WantedPower != m.Power }

// NotTrue returns the conditions that are not true.
func (m VirtualMachine) NotTrue() []Condition {
	return slices.DeleteFunc(slices.Clone(m.Conditions), func(c Condition) bool { return c.Status == "True" })
}

// Lacks returns the message of the first condition that is not true, other than that of the tools, which is a consequence; "" for none.
func (m VirtualMachine) Lacks() string {
	for _, c := range m.NotTrue() {
		if c.Type != "VirtualMachineTools" {
			return cmp.Or(c.Message, c.Type+" is "+c.Status)
		}
	}
	return ""
}

// Condition is a condition of an object.
type Condition struct {
	Type    string `json:"type"`
	Status  string `json:"status"`
	Reason  string `json:"reason,omitempty"`
	Message string `json:"message,omitempty"`
}

// VirtualMachineService is a VirtualMachineService of the Supervisor, with the Service of the guest cluster that it is made for.
type VirtualMachineService struct {
	Name      string `json:"name"`
	Namespace string `json:"namespace"`
	Guest     string `json:"guest,omitempty"`
	// Service is NAMESPACE/NAME in the guest cluster, by the labels that cloud providers set.
	Service string   `json:"service,omitempty"`
	Type    string   `json:"type,omitempty"`
	Ports   []string `json:"ports,omitempty"` // 80→31080/TCP
	Ingress []string `json:"ingress,omitempty"`
	// Endpoints are the VirtualMachines that it forwards to: worker-1 (10.0.0.1).
	Endpoints []string `json:"endpoints,omitempty"`
	// Pending is why it can have no ingress address now.
	Pending string `json:"pending,omitempty"`
	// Events are what the load balancer reported, oldest first: REASON: text.
	Events   []string       `json:"events,omitempty"`
	Deleting bool           `json:"deleting,omitempty"`
	Created  time.Time      `json:"created,omitzero"`
	Object   map[string]any `json:"object,omitempty"`
}

// VirtualMachines lists the VirtualMachines of the Supervisor: none without one.
func (c *Client) VirtualMachines(ctx context.Context) ([]VirtualMachine, error) {
	return get[[]VirtualMachine](ctx, c, "virtualmachines")
}

// VirtualMachineServices lists the VirtualMachineServices of the Supervisor: none without one.
func (c *Client) VirtualMachineServices(ctx context.Context) ([]VirtualMachineService, error) {
	return get[[]VirtualMachineService](ctx, c, "virtualmachineservices")
}
