// Package man is the command that prints manual pages, in the language that man reads: of one command, or of all into a
// folder, as a release does. They say what the help says. Our help is plain text that is laid out by hand, not Markdown, so
// it is set as it is.
//
// It asks no sandbox. Floor 5.
package man
