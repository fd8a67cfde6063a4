package intent

import (
	"slices"
	"strings"
	"time"
)

// command is a command line in its parts: the words of the command, what it is done to, and its flags.
type command struct{ words, names, flags []string }

// args puts the parts together. Names follow the command, as people write it; such that look like flags come last.
func (c command) args() []string {
	if slices.ContainsFunc(c.names, func(n string) bool { return strings.HasPrefix(n, "-") }) {
		return slices.Concat(c.words, c.flags, []string{"--"}, c.names)
	}
	return slices.Concat(c.words, c.names, c.flags)
}

// flag is a flag with its value, nothing when it has none.
func flag(name, value string) []string {
	if value == "" {
		return nil
	}
	return []string{"--" + name, value}
}

// span writes a duration as people give it to flags: 1m30s, 5m, 250ms; nothing for none.
func span(d time.Duration) string {
	if d == 0 {
		return ""
	}
	s := d.String()
	if strings.HasSuffix(s, "m0s") {
		s = strings.TrimSuffix(s, "0s")
	}
	if strings.HasSuffix(s, "h0m") {
		s = strings.TrimSuffix(s, "0m")
	}
	return s
}
