package tui

import (
	"syscall"
	"testing"
	"time"
)

// spent is how much time of processors the process has taken, its garbage collector included. On a machine that others
// use, too, it says more than the time that has passed.
func spent(tb testing.TB) time.Duration {
	tb.Helper()
	var u syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &u); err != nil {
		tb.Fatal(err)
	}
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}
