// Package table has a table with a cursor that makes only visible rows: a thousand nodes cost as much as a screenful. All lists
// of the terminal UI use it.
//
// Floor 4, in the tree of pkg/tui.
package table
