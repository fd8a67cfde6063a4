// Package theme has the styles of the terminal UI by meaning, in a dark, a light and a monochrome theme, and glyphs with the same
// meaning. Everything with a color also has a glyph or a word.
//
// Floor 4, in the tree of pkg/tui.
package theme
