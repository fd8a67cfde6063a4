package instance

import "strings"

// observed is a process found running on this machine.
type observed struct {
	pid, pgid int
	start     string // as in Process.Start
	text      string //nolint:unused // command line and environment, where they come with the list: not on Linux
}

// mentions tells whether text has path in it as a path: not as the beginning of
// a longer name (/state/a in /state/ab) nor as the end of a longer path
// (/state/a in /backup/state/a).
func mentions(text, path string) bool {
	for rest, before := text, byte(0); ; {
		i := strings.Index(rest, path)
		if i < 0 {
			return false
		}
		if i > 0 {
			before = rest[i-1]
		}
		after := byte(0)
		if i+len(path) < len(rest) {
			after = rest[i+len(path)]
		}
		if !inName(before) && !inName(after) {
			return true
		}
		before, rest = rest[i], rest[i+1:]
	}
}

// inName tells whether c would continue the name of a file.
func inName(c byte) bool {
	return c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c >= '0' && c <= '9' || c == '-' || c == '_' || c == '.' || c >= 0x80
}
