package man

import (
	"bytes"
	"strings"
)

// asIs sets lines as they stand: the help is laid out for a terminal, and stays so.
func asIs(b *bytes.Buffer, s string) {
	b.WriteString(".nf\n")
	for line := range strings.SplitSeq(strings.Trim(s, "\n"), "\n") {
		b.WriteString(text(line) + "\n")
	}
	b.WriteString(".fi\n")
}

// text is one line of plain text, in which nothing is an instruction: a backslash begins one anywhere, a dot and an
// apostrophe do at the start of a line. A hyphen stays one, to be typed after it was copied.
func text(line string) string {
	line = strings.NewReplacer(`\`, `\e`, "-", `\-`, "\n", " ").Replace(line)
	if strings.HasPrefix(line, ".") || strings.HasPrefix(line, "'") {
		line = `\&` + line
	}
	return line
}

// quoted is an argument of an instruction.
func quoted(s string) string { return `"` + strings.ReplaceAll(text(s), `"`, `\(dq`) + `"` }
