package command

import (
	"path/filepath"
	"strings"
)

// Typed is what a person types to call the program again that was called as arg0: the path, if it was a path, for it may not
// be in the shell's.
func Typed(arg0 string) string {
	if strings.ContainsRune(arg0, filepath.Separator) && filepath.Base(arg0) == Program {
		return arg0
	}
	return Program
}
