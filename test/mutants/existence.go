package mutants

// existence breaks what is said of VMs that no search finds: it is what nodes are deleted for.
func existence() []Mutant {
	return []Mutant{
		{
			Name:   "doubt-is-absence",
			Breaks: "a VM that cannot be looked for is gone",
			File:   "pkg/provider/existence.go",
			Old: "\tcase unavailable(search) && unavailable(err):\n" +
				"\t\treturn false, fmt.Errorf(\"%w: %w\", ErrDeletionHeldBack, search) // which names the node's providerID\n" +
				"\t}\n\treturn false, fmt.Errorf(\"%w: %w\", ErrDeletionHeldBack, err)\n",
			New: "\tcase search != nil:\n\t}\n\treturn false, nil\n",
			Caught: []Caught{
				{"outages/ccm-restart-during-outage", `never event node\.deleted`},
				{"credentials/password-told-late", `never event node\.deleted`},
			},
		},
		{
			Name:   "one-search-suffices",
			Breaks: "a VM is gone as soon as one of the vCenters has searched for it in vain",
			File:   "pkg/provider/inventory/confirm.go",
			Old:    "\twg.Wait()\n\treturn errors.Join(errs...)\n",
			New:    "\twg.Wait()\n\tif slices.Contains(errs, nil) {\n\t\treturn nil\n\t}\n\treturn errors.Join(errs...)\n",
			Caught: []Caught{{"outages/search-refused", `never .*worker-east-2`}},
		},
		{
			Name:   "unseen-datacenter-skipped",
			Breaks: "a datacenter that the account cannot see is left out, and what the others say is believed",
			File:   "pkg/provider/inventory/zone.go",
			Old:    "\tif err := m.lacks(m.absentAmong(m.index.places())); err != nil {\n",
			New:    "\tif err := m.lacks(nil); err != nil {\n",
			Caught: []Caught{{"outages/search-empty", `never event node\.deleted`}},
		},
		{
			Name:   "index-keeps-what-left",
			Breaks: "a VM that a vCenter no longer has stays in the index",
			File:   "pkg/provider/inventory/index.go",
			Old:    "\tif vm := x.drop(ref); vm != nil && vm.UUID != (UUID{}) {\n\t\tx.departed.add(vm)\n",
			New:    "\tif vm := x.vms[ref]; vm != nil && vm.UUID != (UUID{}) {\n\t\tx.departed.add(vm)\n",
			Caught: []Caught{
				{"lifecycle/destroy", `expect node worker-west-1 does not exist`},
				{"lifecycle/recreate", `expect event node\.deleted`},
			},
		},
	}
}
