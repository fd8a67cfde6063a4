package vcenter

import (
	"slices"
	"strings"
)

// Args turns the long flags of "vcenter up" that have one dash, as vcsim's have, into such with two: "-vm 10" would be
// the flags -v and -m. Those of vcsim that are not here are turned, too, so that the message names them.
func Args(args []string) []string {
	group := slices.IndexFunc(args, func(a string) bool { return a == "vcenter" || a == "vc" })
	at := slices.Index(args, "up")
	if group < 0 || at < group {
		return args
	}
	args = slices.Clone(args)
	for i := at + 1; i < len(args) && args[i] != "--"; i++ {
		name, _, _ := strings.Cut(strings.TrimPrefix(args[i], "-"), "=")
		if strings.HasPrefix(args[i], "-") && slices.Contains(long(), name) {
			args[i] = "-" + args[i]
		}
	}
	return args
}

// long are the long flags that are known with one dash: ours, and those of vcsim v0.56 that make no sense here, or are
// commands of their own ("vcenter slow", "events").
func long() []string {
	names := []string{
		"file", "set", "listen", "username", "password", "env", "detach", "speed", "output", "name", "help",
		"api-version", "autostart", "delay", "delay-jitter", "dir", "esx", "folder", "load", "method-delay", "nsx", "pod",
		"stdinexit", "tls", "tlscert", "tlskey", "trace", "trace-file", "tunnel",
	}
	for _, c := range vcsim().flags {
		names = append(names, c.name)
	}
	return names
}
