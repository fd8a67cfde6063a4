package archtest

// seal keeps a tree from everything else of this module, lower floors included, but not from the small tools.
type seal struct {
	tree    string
	imports []string // what of this module it may import
	why     string
}

func seals() []seal {
	return []seal{
		{
			"pkg/provider/...",
			[]string{"pkg/provider/..."},
			"it is a cloud provider that runs in production, where there is no sandbox",
		},
		{
			"pkg/csi/...",
			[]string{"pkg/csi/...", "pkg/provider/..."},
			"it is a CSI driver that runs in production, where there is no sandbox; connections to vCenters are the provider's",
		},
		{
			"pkg/provider/config", nil,
			"what a configuration file says depends on nothing but the file",
		},
		{
			"pkg/provider/vcenter", nil,
			"a connection to a vCenter knows neither nodes nor how an inventory is indexed",
		},
		{
			"pkg/sim/property",
			[]string{"pkg/sim/property/..."},
			"it replaces vcsim's PropertyCollector in any vcsim, not only in ours",
		},
		{
			"pkg/sim/gate/...",
			[]string{"pkg/sim/gate/..."},
			"it fronts any HTTP handler, and stays testable as one",
		},
	}
}

func checkSealed(m *Module) []Violation {
	var found []Violation
	for _, s := range seals() {
		for _, f := range m.Files {
			if f.Test || !match([]string{s.tree}, f.Dir) {
				continue
			}
			for _, i := range f.Imports {
				if dir, ok := m.within(i.Path); ok && !match(s.imports, dir) && !match(tools(), dir) {
					found = append(found, violation(f, i, s.why, "%s imports %s of this module", s.tree, dir))
				}
			}
		}
	}
	return found
}
