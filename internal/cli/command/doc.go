// Package command is what the commands of the command line share: what they are handed ([Deps]), how they find the
// sandbox they are about, how they talk to it, and the errors all of them may end with.
//
// Floor 5. It knows how sandboxes are listed only through [Sandboxes], and prints nothing.
package command
