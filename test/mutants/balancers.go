package mutants

// balancers breaks load balancers in NSX, and those that the sandbox itself gives to a topology without NSX.
func balancers() []Mutant {
	const (
		balancer = "pkg/provider/loadbalancer/balancer.go"
		ensure   = "pkg/provider/loadbalancer/ensure.go"
		cluster  = "pkg/provider/balancers.go"
		simple   = sandboxBalancer + "loadbalancer.go"
	)
	return []Mutant{
		{
			Name:   "addresses-not-returned",
			Breaks: "the address of a Service that is deleted stays allocated",
			File:   "pkg/provider/loadbalancer/delete.go",
			Old:    "slices.Concat(f.monitors, f.allocations)}",
			New:    "f.monitors}",
			Caught: []Caught{{"loadbalancer/nsx-address", `run nothing of the Service is left in NSX`}},
		},
		{
			Name:   "balancer-service-remembered",
			Breaks: "the load balancer service of the cluster is looked for once",
			File:   ensure,
			Old:    "b.Number(fieldCreated)) })\n\treturn all\n}\n",
			New:    "b.Number(fieldCreated)) })\n\tif len(all) > 0 {\n\t\tservices = all\n\t}\n\treturn services\n}\n\nvar services []nsx.Object\n",
			Caught: []Caught{{"loadbalancer/nsx-again", `run kubectl get service second`}},
		},
		{
			Name:   "identity-of-the-process",
			Breaks: "a process knows only the objects that it has made itself",
			File:   cluster,
			Old:    "\tc.uid = string(ns.UID)\n",
			New:    "\tc.uid = string(ns.UID) + time.Now().String()\n",
			Caught: []Caught{{"loadbalancer/nsx-ccm-killed-delete", `run nothing of the Service is left in NSX`}},
		},
		{
			Name:   "one-class-for-all",
			Breaks: "the annotation with the class has no effect",
			File:   balancer,
			Old:    "\treturn cmp.Or(strings.TrimSpace(s.Annotations[ClassAnnotation]), config.DefaultClass)\n",
			New:    "\treturn cmp.Or(strings.TrimSpace(s.Annotations[ClassAnnotation][:0]), config.DefaultClass)\n",
			Caught: []Caught{{"loadbalancer/nsx-class", `run kubectl get service nsx-class`}},
		},
		{
			Name:   "default-class-for-unknown",
			Breaks: "a class that does not exist is the default class",
			File:   ensure,
			Old:    "\tif len(e.have.servers) == 0 {\n\t\tif !known {\n",
			New:    "\tif len(e.have.servers) == 0 {\n\t\tif !known {\n\t\t\tc, known = e.classNamed(config.DefaultClass)\n\t\t}\n\t\tif !known {\n",
			Caught: []Caught{{"loadbalancer/nsx-unknown-class", `run kubectl get events`}},
		},
		{
			Name:   "allocation-of-each-attempt",
			Breaks: "each attempt to make a load balancer allocates an address, and does not find those of earlier attempts",
			File:   ensure,
			Old:    "\t\t\tnsx.FieldTags: e.tags(e.cluster, scopeService, keyOf(e.service)),\n\t\t}, e.uid());",
			New:    "\t\t\tnsx.FieldTags: e.tags(e.cluster),\n\t\t}, e.uid(), time.Now().String());",
			Caught: []Caught{{"loadbalancer/nsx-conflict", `run there is one allocation`}},
		},
		{
			Name:   "outage-is-done",
			Breaks: "a load balancer that could not be made because NSX is away is finished",
			File:   balancer,
			Old:    "\tif err != nil {\n\t\treturn nil, b.explained(err)\n\t}\n\treturn statusOf(address), nil\n",
			New:    "\tif err != nil && !errors.Is(err, nsx.ErrUnreachable) {\n\t\treturn nil, b.explained(err)\n\t}\n\treturn statusOf(address), nil\n",
			Caught: []Caught{{"loadbalancer/nsx-down-create", `run kubectl get events`}},
		},
		{
			Name:   "outage-is-absence",
			Breaks: "while NSX is away a Service has no load balancer",
			File:   balancer,
			Old:    "\tif err != nil {\n\t\treturn nil, false, b.explained(err)\n",
			New:    "\tif errors.Is(err, nsx.ErrUnreachable) {\n\t\treturn nil, false, nil\n\t}\n\tif err != nil {\n\t\treturn nil, false, b.explained(err)\n",
			Caught: []Caught{{"loadbalancer/nsx-down-delete", `run kubectl get service nsx-down-delete`}},
		},
		{
			Name:   "found-by-cluster-alone",
			Breaks: "the objects of all Services are taken for those of one",
			File:   "pkg/provider/loadbalancer/find.go",
			Old:    "{Scope: scopeCluster, Tag: cluster}, {Scope: scopeService, Tag: keyOf(s)}}\n",
			New:    "{Scope: scopeCluster, Tag: cluster}}\n",
			Caught: []Caught{{"loadbalancer/nsx-neighbor-kept", `run the other one is complete`}},
		},
		{
			Name:   "allocation-problem-unread",
			Breaks: "why NSX allocates no address is not read",
			File:   ensure,
			Old:    "\t\tcase r.State == nsx.Failed:\n\t\t\treturn \"\", &poolError{",
			New:    "\t\tcase r.State == nsx.Failed && ctx.Err() != nil:\n\t\t\treturn \"\", &poolError{",
			Caught: []Caught{{"loadbalancer/nsx-pool-exhausted", `run kubectl get events`}},
		},
		{
			Name:   "needs-all-namespaces",
			Breaks: "it needs a right that it has not: to list all namespaces",
			File:   cluster,
			Old:    "\tns, err := client.CoreV1().Namespaces().Get(ctx, metav1.NamespaceSystem, metav1.GetOptions{})\n\tif err != nil {\n",
			New: "\tns, err := client.CoreV1().Namespaces().Get(ctx, metav1.NamespaceSystem, metav1.GetOptions{})\n" +
				"\tif err == nil {\n\t\t_, err = client.CoreV1().Namespaces().List(ctx, metav1.ListOptions{})\n\t}\n\tif err != nil {\n",
			Caught: []Caught{{"loadbalancer/nsx-rights", `run kubectl get service nsx-rights`}},
		},
		{
			Name:   "added-port-not-served",
			Breaks: "a port that a Service gets later is not listened at",
			File:   simple,
			Old:    "\tif f != nil && f.uid == s.UID && f.fits(s) && ",
			New:    "\tif f != nil && f.uid == s.UID && ",
			Caught: []Caught{
				{"loadbalancer/simple-address", `run vsphere-sandbox explain`},
				{"loadbalancer/simple-control-plane-restart", `run the load balancer follows the Service again`},
			},
		},
		{
			Name:   "listeners-left",
			Breaks: "a Service that is no load balancer any more is still listened for",
			File:   simple,
			Old:    "\t\tb.release(key)\n\t\treturn b.withdraw(ctx, s)\n",
			New:    "\t\treturn b.withdraw(ctx, s)\n",
			Caught: []Caught{{"loadbalancer/simple-type-changed", `expect nothing listens`}},
		},
		{
			Name:   "udp-unreported",
			Breaks: "a port that does not answer is not reported",
			File:   simple,
			Old:    "\tfor _, problem := range f.problems(s) {\n",
			New:    "\tfor _, problem := range f.problems(s)[:0] {\n",
			Caught: []Caught{{"loadbalancer/simple-mixed-protocols", `run kubectl get events`}},
		},
	}
}
