// Package tables says how each kind of thing that a sandbox tells of is shown: columns, kind and reference. Commands
// share it so that a node looks the same wherever it is printed.
//
// Floor 5. It prints nothing: package output does.
package tables
