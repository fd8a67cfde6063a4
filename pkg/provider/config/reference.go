package config

// Key is one key of a vsphere.conf, as a person looks it up.
type Key struct {
	// Section is global, vcenter, labels or nodes, as in YAML.
	Section string
	// YAML and INI are its names in the two forms; empty where a form does not know it.
	YAML, INI string
	// Env is the variable of the environment that sets it, and VCEnv the one that does so for the vCenter of an id; empty for
	// none.
	Env, VCEnv string
	// Kind is text, number, true or false, or list; empty for a key that is known and has no effect.
	Kind string
}

// Reference lists every key that a vsphere.conf may have, in the order of its sections. It is made of the tables that files
// are read by.
func Reference() []Key {
	return append(append(append(
		keysOf("global", globalFields()), keysOf("vcenter", vcenterFields())...),
		keysOf("labels", labelFields())...), keysOf("nodes", nodeFields())...)
}

func keysOf[S any](section string, fields []field[S]) []Key {
	keys := make([]Key, 0, len(fields))
	for _, f := range fields {
		k := Key{Section: section, YAML: f.yaml, INI: f.ini}
		if f.into != nil {
			k.Kind = kindOf(f.into(new(S)))
		}
		switch {
		case section == "vcenter" && f.vcEnv != "":
			k.VCEnv = "VCENTER_<id>_" + f.vcEnv
		case section != "vcenter" && f.env != "":
			k.Env = "VSPHERE_" + f.env
		}
		keys = append(keys, k)
	}
	return keys
}

// kindOf names what a cell holds.
func kindOf(dst any) string {
	switch dst.(type) {
	case *cell[int]:
		return "number"
	case *cell[bool]:
		return "true or false"
	case *cell[[]string]:
		return "list"
	}
	return "text"
}
