package property

import (
	"strings"

	"github.com/vmware/govmomi/vim25/mo"
)

// path is a parsed property path: "runtime.powerState",
// `config.extraConfig["guestinfo.metadata"].value`, "config.hardware.device[4000]".
type path struct {
	name string
	// base are the field names up to the index.
	base []string
	// key is the index: a string, an int32, or nil for a path without one.
	key any
	// item are the field names behind the index.
	item []string
	// valid is false for a path that cannot be read as one.
	valid bool
}

func parsePath(name string) path {
	p := path{name: name}
	var f mo.Field
	if name == "" || !f.FromString(name) {
		return p
	}
	p.base = strings.Split(f.Path, ".")
	p.key = f.Key
	if f.Item != "" {
		p.item = strings.Split(f.Item, ".")
	}
	p.valid = true
	return p
}

// top is the first field name of a path.
func top(name string) string {
	if i := strings.IndexAny(name, ".["); i >= 0 {
		return name[:i]
	}
	return name
}

// within says whether name is the path itself or lies below it.
func within(name, path string) bool {
	if !strings.HasPrefix(name, path) {
		return false
	}
	return len(name) == len(path) || name[len(path)] == '.' || name[len(path)] == '['
}

// related says whether a change of one path can change the value of the other:
// they are the same, or one lies below the other.
func related(a, b string) bool {
	return within(a, b) || within(b, a)
}
