// Package carried finds programs that belong to the main program and are not in the same binary.
//
// A release carries them, compressed, inside the one file that is downloaded, and [Program.Find] unpacks one into the user's
// cache folder, once. A program that is not carried is looked for beside the main program's own file, where `make build`
// leaves it.
//
// It does not run what it finds. Floor 0.
package carried
