// Package instance is the directory of one sandbox, and the question who owns
// it.
//
// Every sandbox has a name and, below the state root ([Root]), a directory of
// that name, in which everything it keeps on disk lives:
//
//	lock                held (flock) by the sandbox for its whole life
//	sandbox.json        what it is: the Record
//	control.sock        where it listens, unless the path is too long for a socket
//	socket-dir          then: the short directory that has the socket instead
//	children.journal    the processes it has started
//	recording.jsonl  recording.1.jsonl
//	events.jsonl  events.1.jsonl  logs/<component>.log  pki/  etcd/  sim/  nodes/<vm>/
//
// The kernel gives the lock back however its holder ends, so a directory whose
// lock is free belongs to a dead sandbox. What that one left, processes and
// files, is cleaned up by the next [Create] of the same name, or by [Reap]. A
// process is ended only when it is proven to be the sandbox's; a directory is
// removed only when it is proven to be an instance directory.
//
// It does not know what is in the directories beside those files, nor how to
// talk to a running sandbox. Floor 0: it imports nothing else of this module.
package instance
