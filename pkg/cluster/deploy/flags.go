package deploy

import (
	"slices"
	"strings"
)

// withFlags returns a command line with flags ("--name=value") in the places of those of the same names, or at its end.
func withFlags(args []string, flags ...string) []string {
	args = slices.Clone(args)
	for _, flag := range flags {
		name, _, _ := strings.Cut(flag, "=")
		if i := flagAt(args, name); i >= 0 {
			args[i] = flag
		} else {
			args = append(args, flag)
		}
	}
	return args
}

// withoutFlags returns a command line without the flags of these names.
func withoutFlags(args []string, names ...string) []string {
	return slices.DeleteFunc(slices.Clone(args), func(a string) bool {
		name, _, _ := strings.Cut(a, "=")
		return slices.Contains(names, name)
	})
}

func flagAt(args []string, name string) int {
	return slices.IndexFunc(args, func(a string) bool { return a == name || strings.HasPrefix(a, name+"=") })
}

// flagValue is the value of a flag, in both ways to write it; "" when it is not there.
func flagValue(args []string, name string) string {
	i := flagAt(args, name)
	switch {
	case i < 0:
		return ""
	case args[i] != name:
		return args[i][len(name)+1:]
	case i+1 < len(args):
		return args[i+1]
	default:
		return ""
	}
}
