package tui

import "strings"

// lines is a writer that hands on whole lines.
type lines struct {
	f    func([]string)
	rest string
}

// Write implements [io.Writer].
func (l *lines) Write(b []byte) (int, error) {
	all := strings.Split(l.rest+string(b), "\n")
	l.rest = all[len(all)-1]
	if all = all[:len(all)-1]; len(all) > 0 {
		l.f(all)
	}
	return len(b), nil
}
