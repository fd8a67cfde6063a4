// Package table is rows in columns with a cursor, of which only those that are seen are made: a thousand nodes cost what
// a screenful costs. It is what every screen of the terminal UI that lists something is made of.
//
// Floor 4, in the tree of pkg/tui.
package table
