package tables

import (
	"strings"
	"time"

	"github.com/vsphere-sandbox/vsphere-sandbox/internal/cli/output"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/sandbox/api"
)

// VirtualMachines shows VirtualMachines of the Supervisor; now dates them.
func VirtualMachines(now time.Time) output.Kind[api.VirtualMachine] {
	type column = output.Column[api.VirtualMachine]
	return output.Kind[api.VirtualMachine]{
		Name: "VirtualMachine",
		Ref:  func(m api.VirtualMachine) string { return "virtualmachine/" + m.Name },
		Key:  func(m api.VirtualMachine) string { return m.Namespace + "/" + m.Name },
		Columns: []column{
			{Header: "NAME", Value: func(m api.VirtualMachine) string { return m.Namespace + "/" + m.Name }},
			{Header: "VM", Value: func(m api.VirtualMachine) string {
				if m.VM == "" {
					return ""
				}
				return m.VCenter + "/" + m.VM
			}},
			{Header: "NODE", Value: func(m api.VirtualMachine) string { return m.Node }},
			{Header: "POWER", Value: machinePower},
			{Header: "IP", Value: func(m api.VirtualMachine) string { return output.Join(m.Addresses) }},
			{Header: "ZONE", Value: func(m api.VirtualMachine) string { return m.Zone }},
			{Header: "NOT-TRUE", Value: notTrue},
			{Header: "GUEST", Wide: true, Value: func(m api.VirtualMachine) string { return m.Guest }},
			{Header: "CLASS", Wide: true, Value: func(m api.VirtualMachine) string { return m.Class }},
			{Header: "BIOS-UUID", Wide: true, Value: func(m api.VirtualMachine) string { return m.BIOSUUID }},
			{Header: "AGE", Wide: true, Value: func(m api.VirtualMachine) string { return output.Age(now, m.Created) }},
		},
	}
}

// withoutAddresses returns the names of endpoints.
func withoutAddresses(endpoints []string) (names []string) {
	for _, e := range endpoints {
		name, _, _ := strings.Cut(e, " ")
		names = append(names, name)
	}
	return names
}

// machinePower is the power state, and whether the VirtualMachine is being deleted.
func machinePower(m api.VirtualMachine) string {
	text := m.PowerChange()
	if m.Deleting {
		text += ",deleting"
	}
	return text
}

// notTrue lists the conditions that are not true.
func notTrue(m api.VirtualMachine) string {
	var all []string
	for _, c := range m.NotTrue() {
		all = append(all, strings.TrimPrefix(c.Type, "VirtualMachine"))
	}
	return output.Join(all)
}

// VirtualMachineServices shows VirtualMachineServices of the Supervisor; now dates them.
func VirtualMachineServices(now time.Time) output.Kind[api.VirtualMachineService] {
	type column = output.Column[api.VirtualMachineService]
	return output.Kind[api.VirtualMachineService]{
		Name: "VirtualMachineService",
		Ref:  func(v api.VirtualMachineService) string { return "virtualmachineservice/" + v.Name },
		Key:  func(v api.VirtualMachineService) string { return v.Namespace + "/" + v.Name },
		Columns: []column{
			{Header: "NAME", Value: func(v api.VirtualMachineService) string { return v.Namespace + "/" + v.Name }},
			{Header: "SERVICE", Value: func(v api.VirtualMachineService) string { return v.Service }},
			{Header: "PORTS", Value: func(v api.VirtualMachineService) string { return output.Join(v.Ports) }},
			{Header: "INGRESS", Value: func(v api.VirtualMachineService) string { return output.Join(v.Ingress) }},
			{Header: "ENDPOINTS", Narrow: true, Value: func(v api.VirtualMachineService) string { return output.Join(withoutAddresses(v.Endpoints)) }},
			{Header: "ENDPOINTS", Wide: true, Value: func(v api.VirtualMachineService) string { return output.Join(v.Endpoints) }},
			{Header: "PENDING", Cut: true, Value: func(v api.VirtualMachineService) string { return v.Pending }},
			{Header: "GUEST", Wide: true, Value: func(v api.VirtualMachineService) string { return v.Guest }},
			{Header: "AGE", Wide: true, Value: func(v api.VirtualMachineService) string { return output.Age(now, v.Created) }},
		},
	}
}
