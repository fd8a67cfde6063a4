//go:build unix && !linux

package child_test

import (
	"os/exec"
	"strconv"
	"strings"
	"testing"
)

func forgetParent() {}

func isSuspended(t *testing.T, pid int) bool {
	t.Helper()
	state, err := exec.CommandContext(t.Context(), "ps", "-o", "state=", "-p", strconv.Itoa(pid)).Output()
	if err != nil {
		t.Fatal(err)
	}
	return strings.HasPrefix(string(state), "T")
}
