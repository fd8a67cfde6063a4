package graph

import (
	"fmt"
	"strconv"
	"strings"
	"unicode"
)

// Tree writes a node and what is in it with box-drawing characters, one object a line. Links are left out: the notes
// say the same.
func Tree(n *Node) string {
	var b strings.Builder
	b.WriteString(line(n) + "\n")
	branch(&b, n.Children, "")
	return b.String()
}

func branch(b *strings.Builder, nodes []*Node, indent string) {
	for i, n := range nodes {
		knot, below := "├── ", "│   "
		if i == len(nodes)-1 {
			knot, below = "└── ", "    "
		}
		b.WriteString(indent + knot + line(n) + "\n")
		branch(b, n.Children, indent+below)
	}
}

// line is a node in a line of text.
func line(n *Node) string {
	text := title(n)
	if len(n.Notes) > 0 {
		text += "  " + printable(strings.Join(n.Notes, ", "))
	}
	if len(n.Tags) > 0 {
		text += "  [" + printable(strings.Join(n.Tags, " ")) + "]"
	}
	return text
}

// title is what a node is and is called.
func title(n *Node) string {
	text := string(n.Kind) + " " + printable(n.Name)
	if n.Count > 1 {
		text += fmt.Sprintf(" (%d)", n.Count)
	}
	return text
}

// printable quotes text that would move the cursor, or be seen as other than it is.
func printable(text string) string {
	if strings.ContainsFunc(text, func(r rune) bool { return !unicode.IsPrint(r) }) {
		return strconv.QuoteToGraphic(text)
	}
	return text
}
