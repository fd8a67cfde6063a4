package inventory

import "strings"

// escape returns a name in vSphere's form, as an element of a path.
func escape(name string) string {
	return strings.NewReplacer("%", "%25", "/", "%2f", `\`, "%5c").Replace(name)
}

// unescape reverts escape.
func unescape(name string) string {
	return strings.NewReplacer("%25", "%", "%2f", "/", "%5c", `\`).Replace(name)
}

// fileName returns a valid directory name for a datastore.
func fileName(name string) string {
	if strings.Trim(name, ".") == "" {
		return strings.ReplaceAll(name, ".", "%2e")
	}
	return strings.ReplaceAll(name, "/", "%2f")
}
