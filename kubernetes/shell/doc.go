// Package shell is a POSIX shell with the usual tools (cat, ls, dd, grep …), in Go, for containers that are no processes. A
// [Program] sees the files of its [FS] and nothing else: no path of the host, no process, no network.
//
// What a program takes is bounded: the size of files and of all that it writes, commands per second, memory, and goroutines. A
// program ends with its context.
package shell
