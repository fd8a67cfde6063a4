package up

import "golang.org/x/sys/unix"

// dup makes newfd another name of oldfd. Not every Linux architecture has dup2.
func dup(oldfd, newfd int) error { return unix.Dup3(oldfd, newfd, 0) }
