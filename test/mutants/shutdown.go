package mutants

// shutdown breaks what is said of VMs that are off.
func shutdown() []Mutant {
	const file = "pkg/provider/existence.go"
	return []Mutant{
		{
			Name:   "shutdown-needs-guest",
			Breaks: "the power state is used only while the guest reports a hostname, which one that is off does not",
			File:   file,
			Old:    "\tswitch vm.Power {\n",
			New: "\tif vm.HostName == \"\" {\n\t\treturn false, fmt.Errorf(\"node %q: vm %s: its guest reports nothing\", node.Name, vm)\n\t}\n" +
				"\tswitch vm.Power {\n",
			Caught: []Caught{{"lifecycle/power-off", `expect node worker-west-1: .*taints .*/shutdown`}},
		},
		{
			Name:   "suspended-is-running",
			Breaks: "a suspended VM is not shut down",
			File:   file,
			Old: "\tcase types.VirtualMachinePowerStatePoweredOn:\n\t\treturn false, nil\n" +
				"\tcase types.VirtualMachinePowerStatePoweredOff, types.VirtualMachinePowerStateSuspended:\n",
			New: "\tcase types.VirtualMachinePowerStatePoweredOn, types.VirtualMachinePowerStateSuspended:\n\t\treturn false, nil\n" +
				"\tcase types.VirtualMachinePowerStatePoweredOff:\n",
			Caught: []Caught{{"lifecycle/suspend-resume", `expect node worker-east-2: .*/shutdown`}},
		},
		{
			Name:   "one-vcenter-silences-all",
			Breaks: "while one vCenter is out nothing is said of the VMs of the others",
			File:   "pkg/provider/inventory/inventory.go",
			Old:    "\tif len(exact) > 0 {\n\t\treturn Result{VMs: exact, Doubt: doubt}\n\t}\n",
			New:    "\tif doubt != nil {\n\t\treturn Result{Doubt: doubt}\n\t}\n\tif len(exact) > 0 {\n\t\treturn Result{VMs: exact, Doubt: doubt}\n\t}\n",
			Caught: []Caught{{"outages/vcenter-down", `expect node worker-west-1: taints .*/shutdown`}},
		},
	}
}
