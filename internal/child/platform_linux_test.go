package child_test

import (
	"fmt"
	"os"
	"strings"
	"testing"

	"golang.org/x/sys/unix"
)

// forgetParent turns the parent-death signal off, so that only the lifeline is left.
func forgetParent() { _ = unix.Prctl(unix.PR_SET_PDEATHSIG, 0, 0, 0, 0) }

func isSuspended(t *testing.T, pid int) bool {
	t.Helper()
	stat, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	if err != nil {
		t.Fatal(err)
	}
	_, rest, _ := strings.Cut(string(stat), ") ")
	return strings.HasPrefix(rest, "T")
}
