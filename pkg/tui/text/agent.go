package text

import (
	"strconv"
	"strings"
)

// Agent is the name in a User-Agent, without version and comments: govc of "govc/0.56.0 (linux)". One that says nothing
// is "(unnamed)".
func Agent(userAgent string) string {
	name := Clean(strings.TrimSpace(userAgent))
	if i := strings.IndexAny(name, "/ ;("); i >= 0 {
		name = name[:i]
	}
	if name == "" {
		return "(unnamed)"
	}
	return name
}

// Count writes a number with separators of thousands: 65,536.
func Count(n uint64) string {
	s := strconv.FormatUint(n, 10)
	for i := len(s) - 3; i > 0; i -= 3 {
		s = s[:i] + "," + s[i:]
	}
	return s
}

// Method makes the name of a method of a vCenter short: of a REST call only the last of its path, and what is done to it:
// "POST tag-association list-attached-tags" of "POST /rest/com/vmware/cis/tagging/tag-association?~action=list-attached-tags".
func Method(name string) string {
	name = Clean(name)
	verb, path, ok := strings.Cut(name, " /")
	if !ok {
		return name
	}
	path, query, _ := strings.Cut(path, "?")
	path = strings.TrimSuffix(path, "/")
	at := strings.LastIndexByte(path, '/') + 1
	if strings.HasPrefix(path[at:], "{") && at > 0 {
		at = strings.LastIndexByte(path[:at-1], '/') + 1
	}
	path = path[at:]
	if _, action, ok := strings.Cut(query, "action="); ok {
		path += " " + action
	}
	return verb + " " + path
}
