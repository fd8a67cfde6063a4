package sim_test

import (
	"fmt"
	"os"
	"runtime"
	"strings"
	"testing"
	"time"
)

// leakChecked runs the tests and then looks for goroutines that they left behind.
func leakChecked(m *testing.M) {
	code := m.Run()
	if code == 0 {
		if left := leftovers(30 * time.Second); left != "" {
			fmt.Fprintln(os.Stderr, "goroutines left behind:\n"+left)
			code = 1
		}
	}
	os.Exit(code)
}

// leftovers returns the stacks of goroutines that run code of ours or of vcsim, after they had time to end.
func leftovers(patience time.Duration) string {
	for deadline := time.Now().Add(patience); ; time.Sleep(20 * time.Millisecond) {
		var left []string
		for stack := range strings.SplitSeq(stacks(), "\n\n") {
			if strings.Contains(stack, "leftovers(") {
				continue
			}
			if strings.Contains(stack, "/pkg/sim") || strings.Contains(stack, "govmomi") || strings.Contains(stack, "net/http.(*conn)") {
				left = append(left, stack)
			}
		}
		if len(left) == 0 {
			return ""
		}
		if time.Now().After(deadline) {
			return strings.Join(left, "\n\n")
		}
	}
}

func stacks() string {
	for size := 1 << 20; ; size *= 2 {
		b := make([]byte, size)
		if n := runtime.Stack(b, true); n < size {
			return string(b[:n])
		}
	}
}
