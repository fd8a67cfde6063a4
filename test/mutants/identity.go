package mutants

// identity breaks how a node finds its VM.
func identity() []Mutant {
	const match = "pkg/provider/match/match.go"
	return []Mutant{
		{
			Name:   "uuid-remembered-by-name",
			Breaks: "a node gets the providerID that the first node of its name had",
			File:   "pkg/provider/instances.go",
			Old:    "\t\tProviderID:       match.ProviderID(vm.UUID),\n" + metadataRest,
			New:    "\t\tProviderID:       match.ProviderID(uuidOfName(node.Name, vm.UUID)),\n" + metadataRest + rememberedSource,
			Caught: []Caught{{"lifecycle/recreate-at-once", `expect node worker-east-1: .*providerID`}},
		},
		{
			Name:   "hostname-to-the-letter",
			Breaks: "a node's VM is the one whose guest has its name, in the same case and without a domain",
			File:   "pkg/provider/instances.go",
			Old:    "\tif node.Spec.ProviderID == \"\" && i.choices.nameDecides {\n",
			New:    "\tif node.Spec.ProviderID == \"\" {\n",
			Caught: []Caught{
				{"identity/hostname-case", `expect node worker-west-1: .*initialized`},
				{"identity/hostname-fqdn", `expect node worker-eu-1: .*initialized`},
			},
		},
		{
			Name:   "system-uuid-ignored",
			Breaks: "a node that registers is looked for by its name alone",
			File:   match,
			Old:    "\tif u, err := ParseUUID(n.SystemUUID); err == nil {\n",
			New:    "\tif u, err := ParseUUID(n.SystemUUID); err == nil && n.Name == \"\" {\n",
			Caught: []Caught{{"identity/hostname-duplicate", `expect node worker-east-1: .*initialized`}},
		},
		{
			Name:   "uuid-in-one-order",
			Breaks: "a VM is found by its UUID in the order of bytes that the node has, and not in the other one",
			File:   "pkg/provider/inventory/inventory.go",
			Old:    "\t\t\tswapped = inv.join(swapped, m.filter(m.index.uuid(other)))\n",
			New:    "\t\t\t_ = other\n",
			Caught: []Caught{{"identity/uuid-swapped", `expect node worker-east-1: addresses 198\.18\.250\.91`}},
		},
		{
			Name:   "clone-as-good-as-any",
			Breaks: "of several VMs with the UUID of a node the name does not decide",
			File:   match,
			Old:    "\tvms = preferred(vms, func(vm VM) bool { return strings.EqualFold(vm.HostName, node) })\n",
			New:    "\t_ = strings.EqualFold\n",
			Caught: []Caught{{"identity/clone-same-uuid", `expect node worker-eu-1: .*initialized`}},
		},
		{
			Name:   "template-is-no-vm",
			Breaks: "a node that is bound to a template has no VM",
			File:   match,
			Old:    "\t\treturn oneOfUUID(r, n.Name, c)\n",
			New:    "\t\treturn oneOfUUID(withoutTemplates(r), n.Name, c)\n",
			Caught: []Caught{{"lifecycle/template", `expect node worker-west-1: .*/shutdown`}},
		},
	}
}

// metadataRest is what stands between a node's providerID and the end of the function.
const metadataRest = `		InstanceType:     instanceType(vm),
		NodeAddresses:    addresses,
		Zone:             zone.Zone,
		Region:           zone.Region,
		AdditionalLabels: maps.Clone(i.labels),
	}, wrap(joinErrors(zoneErr, warning), fmt.Sprintf("node %q", node.Name))
}
`

// rememberedSource is a cache as upstream's: by name, and never purged.
const rememberedSource = `
var uuids = func() chan map[string]match.UUID {
	c := make(chan map[string]match.UUID, 1)
	c <- map[string]match.UUID{}
	return c
}()

func uuidOfName(name string, u match.UUID) match.UUID {
	all := <-uuids
	defer func() { uuids <- all }()
	if first, ok := all[name]; ok {
		return first
	}
	all[name] = u
	return u
}
`
