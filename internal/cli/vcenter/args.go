package vcenter

import (
	"slices"
	"strings"
)

// Args turns the long flags of "vcenter up" that have one dash, as vcsim's have, into such with two: "-vm 10" would be
// the flags -v and -m.
func Args(args []string) []string {
	at := slices.Index(args, "up")
	if at < 1 || (args[at-1] != "vcenter" && args[at-1] != "vc") {
		return args
	}
	args = slices.Clone(args)
	s := vcsim()
	for i := at + 1; i < len(args); i++ {
		name, _, _ := strings.Cut(strings.TrimPrefix(args[i], "-"), "=")
		if strings.HasPrefix(args[i], "-") && (s.has(name) || name == "username" || name == "password") {
			args[i] = "-" + args[i]
		}
	}
	return args
}
