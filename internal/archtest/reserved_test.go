package archtest

// reservation names the only packages that may import one.
type reservation struct {
	target string
	by     []string
	why    string
}

func reservations() []reservation {
	return []reservation{
		{
			"internal/cli/children",
			[]string{"internal/cli", "cmd/..."},
			"it links the cloud controller manager, the CSI driver and light nodes into whoever imports it",
		},
		{
			"internal/cli/clitest", nil,
			"it is for tests of commands",
		},
		{
			"pkg/tui/tuitest", nil,
			"it is for tests of the terminal UI",
		},
	}
}

func checkReserved(m *Module) []Violation {
	var found []Violation
	for _, r := range reservations() {
		for _, f := range m.Files {
			if f.Test || match(r.by, f.Dir) {
				continue
			}
			for _, i := range f.Imports {
				if dir, ok := m.within(i.Path); ok && dir == r.target {
					found = append(found, violation(f, i, r.why, "imports %s", dir))
				}
			}
		}
	}
	return found
}
