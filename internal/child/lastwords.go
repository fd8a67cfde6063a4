package child

import (
	"encoding/json"
	"errors"
	"io"
	"os"
	"os/exec"
	"slices"
	"strings"
	"syscall"
)

// ExitText says why a child is gone: how it exited, and what its log says of that.
func ExitText(ch Change, log string) string {
	text := ch.Name + ": exited"
	if ch.Err != nil {
		text = ch.Err.Error()
	}
	if ch.PID == 0 || signaled(ch.Err) || len(ch.Tail) == 0 {
		return text // it had no time for last words, or none: the log is that of runs before it
	}
	if why := LastWords(LogTail(log, 0)); why != "" {
		text += ": " + why
	}
	return text
}

// signaled reports whether a process was killed rather than that it ended.
func signaled(err error) bool {
	var exit *exec.ExitError
	if !errors.As(err, &exit) {
		return false
	}
	status, ok := exit.Sys().(syscall.WaitStatus)
	return ok && status.Signaled()
}

// LastWords finds the last words of a program in the end of its log: what it panicked with, or its last line. A zap logger
// that panics (etcd's) writes the error on the line before.
func LastWords(log string) string {
	lines := strings.Split(strings.TrimSpace(log), "\n")
	for i, line := range slices.Backward(lines) {
		for _, prefix := range []string{"panic: ", "fatal error: "} {
			words, ok := strings.CutPrefix(line, prefix)
			if !ok {
				continue
			}
			var entry struct{ Level, Msg, Error string }
			if i > 0 && json.Unmarshal([]byte(lines[i-1]), &entry) == nil && entry.Error != "" {
				return entry.Msg + ": " + entry.Error
			}
			return words
		}
	}
	return strings.TrimSpace(lines[len(lines)-1])
}

// logTailBytes is how much of a log is read: more than the stacks of all goroutines of a panic take.
const logTailBytes = 256 << 10

// LogTail returns the end of a file, of what comes after so many bytes, "" when it cannot be read. In a file that has become
// shorter all is new.
func LogTail(path string, from int64) string {
	f, err := os.Open(path)
	if err != nil {
		return ""
	}
	defer f.Close()
	if info, err := f.Stat(); err == nil {
		if info.Size() < from {
			from = 0
		}
		if _, err := f.Seek(max(from, info.Size()-logTailBytes), io.SeekStart); err != nil {
			return ""
		}
	}
	b, err := io.ReadAll(f)
	if err != nil {
		return ""
	}
	return string(b)
}
