// Package text fits words into cells of a terminal: how wide they are there, cut off with an ellipsis, filled up with
// spaces, wrapped. It knows styled text, and takes what would move the cursor out of text that came from elsewhere.
//
// Floor 4, in the tree of pkg/tui.
package text
