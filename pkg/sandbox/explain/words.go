package explain

import (
	"fmt"
	"strings"
)

// count is a small number as a word.
func count(n int) string {
	words := []string{"no", "one", "two", "three", "four", "five", "six", "seven", "eight", "nine"}
	if n < len(words) {
		return words[n]
	}
	return fmt.Sprint(n)
}

// and joins a list as a sentence does.
func and(list []string, word string) string {
	if len(list) < 2 {
		return strings.Join(list, "")
	}
	last := len(list) - 1
	return strings.Join(list[:last], ", ") + " " + word + " " + list[last]
}

// ids names VMs.
func ids(list []Machine) []string {
	var all []string
	for _, m := range list {
		all = append(all, m.id())
	}
	return all
}

// cutID takes VCENTER/NAME apart.
func cutID(id string) (vcenter, name string) {
	vcenter, name, _ = strings.Cut(id, "/")
	return vcenter, name
}
