package mutants

// addresses breaks what nodes are given of what their guests report.
func addresses() []Mutant {
	return []Mutant{
		{
			Name:   "silent-guest-has-no-address",
			Breaks: "a node loses its addresses when VMware Tools stop",
			File:   "pkg/provider/nodeaddresses.go",
			Old:    "\t\treturn nil, nil, addressError(vm, &address.Problem{\n",
			New: "\t\tif vm.Name != \"\" {\n" +
				"\t\t\treturn []corev1.NodeAddress{{Type: corev1.NodeHostName, Address: vm.Name}}, nil, nil\n\t\t}\n" +
				"\t\treturn nil, nil, addressError(vm, &address.Problem{\n",
			Caught: []Caught{{"addresses/tools-stopped", `never node worker-west-1: addresses`}},
		},
		{
			Name:   "pods-address-taken",
			Breaks: "what a CNI makes in the guest counts as an adapter of the VM",
			File:   "pkg/provider/address/select.go",
			Old:    "\t\tif a.Virtual {\n",
			New:    "\t\tif a.Virtual && len(a.Addresses) == 0 {\n",
			Caught: []Caught{{"addresses/pseudo-nics", `expect node worker-east-1: .*addresses`}},
		},
	}
}
