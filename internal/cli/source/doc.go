// Package source finds the topology that a command is about: a scenario that comes with the program, or a file, with
// its parameters as --set has them.
//
// Floor 5.
package source
