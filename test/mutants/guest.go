package mutants

// guest breaks the mode for a guest cluster: what is said of its VirtualMachines, and its load balancers.
func guest() []Mutant {
	const (
		instances = "pkg/provider/paravirtual/instances.go"
		routes    = "pkg/provider/paravirtual/routes.go"
		existence = "pkg/provider/paravirtual/existence.go"
		balancers = "pkg/provider/paravirtual/loadbalancer.go"
		heldBack  = "\t\treturn false, fmt.Errorf(\"%w: %w\", ErrDeletionHeldBack, err)\n"
		on        = "\tcase vmoperator.PoweredOn:\n\t\treturn false, nil\n"
		off       = "\tcase vmoperator.PoweredOff, vmoperator.Suspended:\n\t\treturn true, nil\n"
	)
	return []Mutant{
		{
			Name:   "guest-refusal-is-absence",
			Breaks: "a VirtualMachine that may not be read is gone",
			File:   existence,
			Old:    heldBack,
			New:    "\t\tif reasonOf(err) == ReasonSupervisorForbidden {\n\t\t\treturn false, nil\n\t\t}\n" + heldBack,
			Caught: []Caught{{"supervisor/guest-forbidden", `never event node\.deleted`}},
		},
		{
			Name:   "guest-silence-is-absence",
			Breaks: "a VirtualMachine that the Supervisor says nothing of is gone",
			File:   existence,
			Old:    heldBack,
			New:    "\t\tif reasonOf(err) == ReasonSupervisorUnavailable {\n\t\t\treturn false, nil\n\t\t}\n" + heldBack,
			Caught: []Caught{
				{"supervisor/guest-supervisor-down", `never event node\.deleted`},
				{"supervisor/guest-supervisor-hung", `never event node\.deleted`},
			},
		},
		{
			Name:   "guest-deletion-unseen",
			Breaks: "a VirtualMachine that is deleted stays in memory",
			File:   "pkg/provider/paravirtual/follow/follow.go",
			Old:    "\t\tdelete(s.objects, uid)\n",
			New:    "\t\t_ = before\n",
			Caught: []Caught{{"supervisor/guest-machine-deleted", `expect event node\.deleted of worker-b-1`}},
		},
		{
			Name:   "guest-off-is-gone",
			Breaks: "a VirtualMachine that is off does not exist",
			File:   existence,
			Old:    "\tif _, err := p.find(node); err == nil || errors.Is(err, match.ErrAmbiguous) {\n\t\treturn true, nil // one of them is the node's\n",
			New: "\tif vm, err := p.find(node); err == nil || errors.Is(err, match.ErrAmbiguous) {\n" +
				"\t\treturn vm == nil || vm.Status.PowerState != vmoperator.PoweredOff, nil\n",
			Caught: []Caught{{"supervisor/guest-power-off", `never event node\.deleted`}},
		},
		{
			Name:   "guest-suspended-is-running",
			Breaks: "only a VirtualMachine that is off is shut down, not one that is suspended",
			File:   instances,
			Old:    on + off,
			New:    "\tcase vmoperator.PoweredOn, vmoperator.Suspended:\n\t\treturn false, nil\n\tcase vmoperator.PoweredOff:\n\t\treturn true, nil\n",
			Caught: []Caught{{"supervisor/guest-suspended", `expect node worker-b-1: .*/shutdown`}},
		},
		{
			Name:   "guest-silent-node-is-off",
			Breaks: "a node that is not ready is shut down, though VM Operator says that its VM is on",
			File:   instances,
			Old:    on,
			New: "\tcase vmoperator.PoweredOn:\n\t\tfor _, c := range node.Status.Conditions {\n" +
				"\t\t\tif c.Type == corev1.NodeReady && c.Status != corev1.ConditionTrue {\n\t\t\t\treturn true, nil\n\t\t\t}\n\t\t}\n" +
				"\t\treturn false, nil\n",
			Caught: []Caught{{"supervisor/guest-operator-stopped", `expect node worker-b-1 .*no taint`}},
		},
		{
			Name:   "guest-uuid-not-awaited",
			Breaks: "a node is initialized though VM Operator has not reported the UUID of its VirtualMachine",
			File:   "pkg/provider/paravirtual/binding/binding.go",
			Old:    "\tif vm.UUID == (match.UUID{}) {\n\t\treturn ",
			New:    "\tif vm.UUID == (match.UUID{}) && vm.Name == \"\" {\n\t\treturn ",
			Caught: []Caught{{"supervisor/guest-late-uuid", `expect node worker-c-1: initialized no`}},
		},
		{
			Name:   "guest-impatient",
			Breaks: "a call to the Supervisor has one second",
			File:   "pkg/provider/command_paravirtual.go",
			Old:    "o.Supervisor.CallTimeout = c.provider.CallTimeout",
			New:    "o.Supervisor.CallTimeout = c.provider.CallTimeout / 10",
			Caught: []Caught{{"supervisor/guest-supervisor-slow", `expect node worker-c-1: .*initialized`}},
		},
		{
			Name:   "guest-token-read-once",
			Breaks: "the token of the start is used for good",
			File:   "pkg/provider/paravirtual/supervisor/connection.go",
			Old:    "\tdata, err := c.read(tokenFile)\n",
			New: "\tc.mu.Lock()\n\tknown := c.token\n\tc.mu.Unlock()\n\tif known != \"\" {\n\t\treturn known, nil\n\t}\n" +
				"\tdata, err := c.read(tokenFile)\n",
			Caught: []Caught{{"supervisor/guest-token-expired", `run kubectl wait .*service/web`}},
		},
		{
			Name:   "guest-rotation-ends-the-process",
			Breaks: "the process ends when its token is replaced",
			File:   "pkg/provider/paravirtual/supervisor/connection.go",
			Old:    "\tname := strings.TrimSpace(string(data))\n",
			New: "\tnow, _ := c.readToken()\n\tc.mu.Lock()\n\tbefore := c.token\n\tc.mu.Unlock()\n" +
				"\tif before != \"\" && now != before {\n\t\tpanic(\"the token was replaced\")\n\t}\n" +
				"\tname := strings.TrimSpace(string(data))\n",
			Caught: []Caught{{"supervisor/guest-token-rotated", `never event child`}},
		},
		{
			Name:   "guest-no-address-is-done",
			Breaks: "a load balancer without an address is finished",
			File:   balancers,
			Old:    "\tif len(status.Ingress) == 0 {\n\t\treturn nil, api.",
			New:    "\tif len(status.Ingress) == 0 && ctx.Err() != nil {\n\t\treturn nil, api.",
			Caught: []Caught{{"supervisor/guest-pool-empty", `run kubectl get events`}},
		},
		{
			Name:   "guest-ranges-of-creation",
			Breaks: "source ranges that a Service gets later are not passed on",
			File:   balancers,
			Old:    "\tset(!slices.Equal(have.Spec.LoadBalancerSourceRanges, spec.LoadBalancerSourceRanges), ",
			New:    "\tset(len(have.Spec.LoadBalancerSourceRanges) > 0 && !slices.Equal(have.Spec.LoadBalancerSourceRanges, spec.LoadBalancerSourceRanges), ",
			Caught: []Caught{{"supervisor/guest-pool-empty", `run kubectl .*loadBalancerSourceRanges.* virtualmachineservices`}},
		},
		{
			Name:   "guest-route-of-creation",
			Breaks: "a route stays at the address that its Node had",
			File:   routes,
			Old:    "\treturn err == nil && !slices.Equal(hops, []string{hop})\n",
			New:    "\treturn err == nil && len(hops) == 0 && hop != \"\"\n",
			Caught: []Caught{{"supervisor/guest-routes", `the route follows`}},
		},
		{
			Name:   "guest-subnet-is-kept",
			Breaks: "a network of pods is not given back with its Node",
			File:   "pkg/provider/paravirtual/podsubnets.go",
			Old:    "\tif len(nodes) == 0 {\n\t\treturn failed\n\t}\n",
			New:    "\tif len(nodes) >= 0 {\n\t\treturn failed\n\t}\n",
			Caught: []Caught{{"supervisor/guest-routes", `wait --for=delete`}},
		},
	}
}
