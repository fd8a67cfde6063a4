// Package markdown renders the Markdown of tutorials for a terminal: paragraphs, lists, tables, headings, quotes, blocks of code;
// emphasis, code and links. It does not parse all of Markdown: other syntax stays as it is.
//
//	fmt.Print(markdown.Terminal(text, markdown.Options{Width: 80, Styled: true}))
//
// Floor 2: it imports nothing of this module.
package markdown
