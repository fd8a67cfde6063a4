package env

import (
	"path"
	"slices"
	"strings"
)

// shell is how a kind of shell sets and unsets variables.
type shell struct {
	name       string
	set, unset func(name, value string) string
	// eval is what the user types to have a command's output take effect.
	eval func(command string) string
}

func shells() []shell {
	posix := func(name string) shell {
		return shell{
			name:  name,
			set:   func(n, v string) string { return "export " + n + "=" + quote(v, `'\''`) },
			unset: func(n, _ string) string { return "unset " + n },
			eval:  func(c string) string { return `eval "$(` + c + `)"` },
		}
	}
	return []shell{
		posix("bash"), posix("zsh"),
		{
			name:  "fish",
			set:   func(n, v string) string { return "set -gx " + n + " " + quote(strings.ReplaceAll(v, `\`, `\\`), `\'`) },
			unset: func(n, _ string) string { return "set -e " + n },
			eval:  func(c string) string { return c + " | source" },
		},
		{
			name:  "powershell",
			set:   func(n, v string) string { return "$Env:" + n + " = " + quote(v, `''`) },
			unset: func(n, _ string) string { return "Remove-Item -ErrorAction SilentlyContinue Env:" + n },
			eval:  func(c string) string { return "& " + c + " | Out-String | Invoke-Expression" },
		},
	}
}

// quote puts v in single quotes, where inner stands for a single quote.
func quote(v, inner string) string { return "'" + strings.ReplaceAll(v, "'", inner) + "'" }

// shellOf returns the shell of a name; of those not known, and of none, bash, whose words all but fish understand.
func shellOf(name string) shell {
	all := shells()
	for _, s := range all {
		if s.name == path.Base(name) {
			return s
		}
	}
	return all[0]
}

// Lines are the commands that set the variables in the shell of that name, and unset what another vCenter may have left.
// A kubeconfig is left alone: it may be the user's own.
func Lines(shell string, vars []Var) string {
	sh := shellOf(shell)
	var b strings.Builder
	for _, name := range Names() {
		if i := slices.IndexFunc(vars, func(v Var) bool { return v.Name == name }); i >= 0 {
			b.WriteString(sh.set(name, vars[i].Value) + "\n")
		} else if name != "KUBECONFIG" {
			b.WriteString(sh.unset(name, "") + "\n")
		}
	}
	return b.String()
}
