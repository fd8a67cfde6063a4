package steps

import (
	"fmt"
	"strings"
)

// Markdown is the plan as it is read.
func (p *Plan) Markdown() string {
	var b strings.Builder
	fmt.Fprintf(&b, "# Migration of %s %s\n\n", p.Cluster, p.Version)
	fmt.Fprintf(&b, "From the in-tree vSphere provider and %s to the cloud controller manager and the CSI driver.\n", code(p.Source))
	b.WriteString("A step is done when what it says under \"Seen by\" is so; only then begin the next one.\n")
	for _, n := range p.Notes {
		b.WriteString("\n> " + n + "\n")
	}
	b.WriteByte('\n')
	for i, s := range p.Steps {
		fmt.Fprintf(&b, "%d. [%s](#%s)\n", i+1, s.Title, anchor(i+1, s.Title))
	}
	for i, s := range p.Steps {
		fmt.Fprintf(&b, "\n## %d. %s\n\n%s\n", i+1, s.Title, s.Why)
		for _, t := range s.Text {
			b.WriteString("\n- " + t)
		}
		if len(s.Text) > 0 {
			b.WriteByte('\n')
		}
		block(&b, "", s.Commands)
		block(&b, "Seen by", s.Done)
		if s.UndoText != "" {
			b.WriteString("\n**Way back**: " + s.UndoText + "\n")
			block(&b, "", s.Undo)
		} else {
			block(&b, "Way back", s.Undo)
		}
	}
	return b.String()
}

// block is commands as they are typed, below a title.
func block(b *strings.Builder, title string, all []Command) {
	if len(all) == 0 {
		return
	}
	if title != "" {
		b.WriteString("\n**" + title + "**\n")
	}
	b.WriteString("\n```sh\n")
	on := ""
	for _, c := range all {
		if c.On != on {
			if on = c.On; on != "" {
				b.WriteString("# on " + on + "\n")
			} else {
				b.WriteString("# where kubectl is\n")
			}
		}
		if c.What != "" {
			b.WriteString("# " + c.What + "\n")
		}
		b.WriteString(c.Run + "\n")
	}
	b.WriteString("```\n")
}

func code(text string) string { return "`" + strings.ReplaceAll(text, "`", "'") + "`" }

// anchor is what readers of Markdown make of a heading.
func anchor(n int, title string) string {
	var b strings.Builder
	fmt.Fprintf(&b, "%d-", n)
	for _, r := range strings.ToLower(title) {
		switch {
		case r >= 'a' && r <= 'z', r >= '0' && r <= '9', r == '-':
			b.WriteRune(r)
		case r == ' ':
			b.WriteByte('-')
		}
	}
	return b.String()
}
