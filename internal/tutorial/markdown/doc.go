// Package markdown makes text for a terminal of the Markdown that tutorials are written in: paragraphs, lists, tables,
// headings, quotes, blocks of code; and in lines emphasis, code and links. It is no parser of all of Markdown: what it does
// not know stays as it is written.
//
//	fmt.Print(markdown.Terminal(text, markdown.Options{Width: 80, Styled: true}))
//
// Floor 2: it imports nothing of this module.
package markdown
