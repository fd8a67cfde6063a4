// Package input reads what users name, files, pipes and streams, and no more of it than there may be.
//
// A file that a user names may be any: a device without an end, a pipe that nothing is written to, a folder. [File] reads a
// bounded part of it and says in words what is wrong. [Reader] bounds what a stream gives before memory is taken for it.
//
// Floor 0: it imports nothing of this module.
package input
