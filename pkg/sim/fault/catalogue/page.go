package catalogue

import (
	"fmt"
	"strings"

	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/sim/fault"
)

// Page returns the page docs/faults.md. A test compares the two.
func Page() string {
	var b strings.Builder
	b.WriteString(`# Faults

What can be broken on purpose, and put right again. This page is printed from the kinds of
[pkg/sim/fault](../pkg/sim/fault); ` + "`vsphere-sandbox fault describe KIND`" + ` prints the same in a terminal.

A fault is a lease: ` + "`vsphere-sandbox fault inject KIND [TARGET...]`" + ` plans it, and refuses what cannot be; writes down what
was before; and only then changes something. ` + "`fault heal`" + ` puts that back, as the end of ` + "`--for`" + ` and of the sandbox do.
Targets and accounts may be [patterns](patterns.md).
A ⚡ fault is over as soon as it has happened, and there is nothing to heal.

`)
	b.WriteString("| theme | faults |\n|---|---|\n")
	for _, t := range Themes() {
		names := make([]string, len(t.Kinds))
		for i, k := range t.Kinds {
			names[i] = "[`" + k.Name + "`](#" + anchor(k.Name) + ")"
		}
		fmt.Fprintf(&b, "| [%s](#%s) | %s |\n", t.Title, anchor(t.Title), strings.Join(names, " "))
	}
	for _, t := range Themes() {
		fmt.Fprintf(&b, "\n## %s\n", t.Title)
		for _, k := range t.Kinds {
			describe(&b, k)
		}
	}
	return b.String()
}

// describe prints the section of a kind.
func describe(b *strings.Builder, k *fault.Kind) {
	fmt.Fprintf(b, "\n### %s\n\n", k.Name)
	if k.Momentary {
		b.WriteString("⚡ ")
	}
	fmt.Fprintf(b, "%s%s.\n", strings.ToUpper(k.Short[:1]), k.Short[1:])
	if long := strings.TrimSpace(k.Long); long != "" {
		fmt.Fprintf(b, "\n%s\n", long)
	}
	fmt.Fprintf(b, "\nHappens to: %s.", k.Object)
	if len(k.Needs) > 0 {
		fmt.Fprintf(b, " Takes %s.", Needs(k))
	}
	if len(k.Reported) > 0 {
		links := make([]string, len(k.Reported))
		for i, r := range k.Reported {
			links[i] = r
			if u := URL(r); u != "" {
				links[i] = "[" + r + "](" + u + ")"
			}
		}
		fmt.Fprintf(b, " Reported: %s.", strings.Join(links, ", "))
	}
	b.WriteString("\n")
	if len(k.Params) == 0 {
		return
	}
	b.WriteString("\n| `--set` | | default |\n|---|---|---|\n")
	for _, p := range k.Params {
		short := strings.ReplaceAll(strings.ReplaceAll(p.Short, "|", "\\|"), "*", "\\*")
		if len(p.Choices) > 0 {
			short += ": " + strings.Join(p.Choices, ", ")
		}
		standard := ""
		switch {
		case p.Required:
			standard = "**required**"
		case p.Default != "":
			standard = "`" + p.Default + "`"
		}
		fmt.Fprintf(b, "| `%s` (%s) | %s | %s |\n", p.Name, p.Type, short, standard)
	}
}

// anchor returns the link target of a heading.
func anchor(heading string) string {
	var b strings.Builder
	for _, r := range strings.ToLower(heading) {
		switch {
		case r == ' ':
			b.WriteByte('-')
		case r == '-' || r == '_' || r >= 'a' && r <= 'z' || r >= '0' && r <= '9':
			b.WriteRune(r)
		}
	}
	return b.String()
}
