package tutorial

import (
	"path"
	"strings"
)

// shell is how a kind of shell is told things. The zero value is a POSIX one.
type shell struct{ fish bool }

func shellOf(name string) shell { return shell{fish: path.Base(name) == "fish"} }

// shells are those that may be named. Others that are POSIX ones take what bash takes.
func shells() []string { return []string{"bash", "zsh", "fish"} }

// quote puts a value in single quotes.
func (s shell) quote(v string) string {
	if s.fish {
		return "'" + strings.NewReplacer(`\`, `\\`, `'`, `\'`).Replace(v) + "'"
	}
	return "'" + strings.ReplaceAll(v, "'", `'\''`) + "'"
}

func (s shell) set(name, value string) string {
	if s.fish {
		return "set -gx " + name + " " + s.quote(value)
	}
	return "export " + name + "=" + s.quote(value)
}

// prepend puts a directory before all others in PATH.
func (s shell) prepend(dir string) string {
	if s.fish {
		return "set -gx PATH " + s.quote(dir) + " $PATH"
	}
	return "export PATH=" + s.quote(dir) + `:"$PATH"`
}

// eval is what is typed to have a command's output take effect.
func (s shell) eval(command string) string {
	if s.fish {
		return command + " | source"
	}
	return `eval "$(` + command + `)"`
}
