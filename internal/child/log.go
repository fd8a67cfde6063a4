package child

import (
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
)

const (
	tailLines = 20
	tailBytes = 4 << 10
)

// openLog opens path for appending and returns its size. It makes the directory
// of the log, and not the one above: that may be one that was removed on
// purpose. A log of limit bytes or more is moved out of the way first. Two processes may have it open at once
// for a moment, which O_APPEND makes harmless.
func openLog(path string, limit int64) (*os.File, int64, error) {
	if err := os.Mkdir(filepath.Dir(path), 0o700); err != nil && !errors.Is(err, fs.ErrExist) {
		return nil, 0, err
	}
	if info, err := os.Stat(path); err == nil && info.Size() >= limit {
		if err := os.Rename(path, path+".1"); err != nil {
			return nil, 0, err
		}
	}
	log, err := os.OpenFile(path, os.O_CREATE|os.O_WRONLY|os.O_APPEND, 0o600)
	if err != nil {
		return nil, 0, err
	}
	info, err := log.Stat()
	if err != nil {
		_ = log.Close()
		return nil, 0, err
	}
	return log, info.Size(), nil
}

// readTail returns the last lines of a log that were written after from. It only explains an exit, so an error yields no
// lines.
func readTail(path string, from int64) []string {
	log, err := os.Open(path)
	if err != nil {
		return nil
	}
	defer log.Close()
	info, err := log.Stat()
	if err != nil {
		return nil
	}
	start := max(from, info.Size()-tailBytes)
	text, err := io.ReadAll(io.NewSectionReader(log, start, tailBytes))
	if err != nil {
		return nil
	}
	if start > from { // the cut has probably gone through a line: leave it out
		if _, rest, found := bytes.Cut(text, []byte("\n")); found && len(rest) > 0 {
			text = rest
		}
	}
	trimmed := strings.TrimRight(strings.ToValidUTF8(string(text), "?"), "\r\n")
	if trimmed == "" {
		return nil
	}
	lines := strings.Split(trimmed, "\n")
	lines = lines[max(0, len(lines)-tailLines):]
	for i, line := range lines {
		lines[i] = strings.TrimRight(line, "\r")
	}
	return lines
}

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
