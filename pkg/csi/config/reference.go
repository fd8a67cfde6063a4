package config

// Key is one key of a csi-vsphere.conf, as a person looks it up.
type Key struct {
	// Section is its section, as it is written: [Global], [VirtualCenter "…"].
	Section string
	Name    string
	// Unused is why it has no effect here; empty where it has.
	Unused string
	// Shared: a vsphere.conf has it, too.
	Shared bool
}

// Reference lists every key that a csi-vsphere.conf may have, in the order of its sections. It is made of the tables that
// files are read by. A section that has no effect at all is a Key without a name.
func Reference() []Key {
	var all []Key
	for _, s := range sections() {
		title := "[" + s.name + "]"
		if s.sub {
			title = "[" + s.name + ` "…"]`
		}
		if s.unused != "" {
			all = append(all, Key{Section: title, Unused: s.unused})
		}
		for _, k := range s.keys {
			all = append(all, Key{Section: title, Name: k.name, Unused: k.unused, Shared: !s.csi && !k.csi})
		}
	}
	return all
}
