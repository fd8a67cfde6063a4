// Package tutorial is the commands that walk a reader through a tutorial. What they do is in internal/tutorial/guide; here
// are their flags, the terminal, and the words for what goes wrong.
//
// Floor 5.
package tutorial
