// Package tables defines the table of each kind of object of a sandbox: columns, kind and reference. Commands share it so
// that a node looks the same wherever it is printed.
//
// Floor 5. It prints nothing: package output does.
package tables
