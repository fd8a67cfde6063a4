package shell

import (
	"crypto/rand"
	"io"
	"syscall"
)

// null is /dev/null, zero /dev/zero, random /dev/random, full /dev/full.
type (
	null   struct{}
	zero   struct{}
	random struct{}
	full   struct{}
)

func (null) Read([]byte) (int, error)    { return 0, io.EOF }
func (null) Write(b []byte) (int, error) { return len(b), nil }
func (null) Close() error                { return nil }

func (zero) Read(b []byte) (int, error) {
	clear(b)
	return len(b), nil
}
func (zero) Write(b []byte) (int, error) { return len(b), nil }
func (zero) Close() error                { return nil }

func (random) Read(b []byte) (int, error)  { return rand.Read(b) }
func (random) Write(b []byte) (int, error) { return len(b), nil }
func (random) Close() error                { return nil }

func (full) Read(b []byte) (int, error) {
	clear(b)
	return len(b), nil
}
func (full) Write([]byte) (int, error) { return 0, syscall.ENOSPC }
func (full) Close() error              { return nil }
