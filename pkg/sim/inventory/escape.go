package inventory

import "strings"

// escape writes a name as vSphere keeps it, so that it can be an element of a path.
func escape(name string) string {
	return strings.NewReplacer("%", "%25", "/", "%2f", `\`, "%5c").Replace(name)
}

// unescape is the name that escape was given.
func unescape(name string) string {
	return strings.NewReplacer("%25", "%", "%2f", "/", "%5c", `\`).Replace(name)
}

// fileName makes a name one that a directory of a datastore can have.
func fileName(name string) string {
	if strings.Trim(name, ".") == "" {
		return strings.ReplaceAll(name, ".", "%2e")
	}
	return strings.ReplaceAll(name, "/", "%2f")
}
