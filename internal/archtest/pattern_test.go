package archtest

import "strings"

// match reports whether a path fits one of the patterns, which are written as for the go command: "..." stands for any
// text, and "/..." at the end for nothing, too.
func match(patterns []string, name string) bool {
	for _, p := range patterns {
		if fits(p, name) {
			return true
		}
	}
	return false
}

func fits(pattern, name string) bool {
	if pattern == "/..." {
		return name == "" || name[0] == '/'
	}
	if rest, ok := strings.CutPrefix(pattern, "..."); ok {
		for i := range len(name) + 1 {
			if fits(rest, name[i:]) {
				return true
			}
		}
		return false
	}
	if pattern == "" || name == "" {
		return pattern == name
	}
	return pattern[0] == name[0] && fits(pattern[1:], name[1:])
}
