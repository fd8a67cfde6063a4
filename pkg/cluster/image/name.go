package image

import (
	"regexp"
	"strings"
)

// split parts a name at its tag's colon, which is not that of a registry's port.
func split(name string) (repository, tag string) {
	if i := strings.LastIndexByte(name, ':'); i > strings.LastIndexByte(name, '/') {
		return name[:i], name[i+1:]
	}
	return name, ""
}

// complete tells whether a name has a registry, a repository and a tag: container runtimes disagree on what is meant by
// shorter ones.
func complete(name string) bool {
	repository, tag := split(name)
	registry, rest, ok := strings.Cut(repository, "/")
	return ok && (strings.ContainsAny(registry, ".:") || registry == "localhost") &&
		regexp.MustCompile(`^[a-z0-9]+([._/-]+[a-z0-9]+)*$`).MatchString(rest) &&
		regexp.MustCompile(`^\w[\w.-]{0,127}$`).MatchString(tag)
}
