// Package text fits text into cells of a terminal: it measures, cuts off with an ellipsis, pads and wraps. It handles styled
// text, and cleans foreign text of what would move the cursor.
//
// Floor 4, in the tree of pkg/tui.
package text
