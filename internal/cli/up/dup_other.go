//go:build !linux

package up

import "golang.org/x/sys/unix"

// dup makes newfd another name of oldfd.
func dup(oldfd, newfd int) error { return unix.Dup2(oldfd, newfd) }
