package archtest

// upward are the higher floors that tests may stand on.
func upward() []edge {
	return []edge{
		{"pkg/provider/...", "pkg/sim/...", "the provider is tried against simulated vCenters; nothing else speaks vSphere here"},
		{"pkg/csi/...", "pkg/sim/...", "so is the driver"},
	}
}

// checkTests is the floors for tests: they may use their own floor and what is below, and what upward names. A test that
// needs more belongs on the floor that has it.
func checkTests(m *Module) []Violation {
	var found []Violation
	for _, f := range m.Files {
		own, tree, ok := place(f.Dir)
		if !f.Test || !ok {
			continue
		}
		for _, i := range f.Imports {
			dir, ok := m.within(i.Path)
			if !ok {
				continue
			}
			other, otherTree, ok := place(dir)
			if !ok || otherTree == tree || other.number <= own.number || allowed(upward(), f.Dir, dir) {
				continue
			}
			found = append(found, violation(f, i, "a test that needs a higher floor belongs there",
				"tests floor %d with %s of floor %d", own.number, dir, other.number))
		}
	}
	return found
}
