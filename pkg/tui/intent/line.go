package intent

import "strings"

// Line is the command line that does the same as a, to be pasted into a shell: program, name of the sandbox ("" leaves it
// to the program to find), and the action's arguments, quoted where a shell wants it.
func Line(a Action, program, name string) string {
	words := append([]string{program}, flag("name", name)...)
	return Quote(append(words, a.Args()...)...)
}

// Quote writes words so that a POSIX shell, and the prompt, read them as they are.
func Quote(words ...string) string {
	quoted := make([]string, len(words))
	for i, w := range words {
		quoted[i] = quote(w)
	}
	return strings.Join(quoted, " ")
}

func quote(w string) string {
	if w != "" && strings.IndexFunc(w, special) < 0 && !strings.ContainsRune("~=", rune(w[0])) {
		return w
	}
	return "'" + strings.ReplaceAll(w, "'", `'\''`) + "'"
}

// special tells whether a rune may mean something to a shell.
func special(r rune) bool {
	switch {
	case r >= 'a' && r <= 'z', r >= 'A' && r <= 'Z', r >= '0' && r <= '9':
		return false
	}
	return !strings.ContainsRune("-_./:=@%+,~", r)
}
