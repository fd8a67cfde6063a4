// Package theme is how the terminal UI looks: styles by what they mean, in a dark, a light and a monochrome theme, and
// the glyphs that say the same without color. What has a color always has a glyph or a word, too.
//
// Floor 4, in the tree of pkg/tui.
package theme
