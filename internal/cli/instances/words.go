package instances

import (
	"io"
	"os"
	"strings"

	"github.com/vsphere-sandbox/vsphere-sandbox/internal/instance"
	"github.com/vsphere-sandbox/vsphere-sandbox/internal/printable"
)

const (
	tailBytes = 256 << 10 // how much of a log is read: more than the stacks after a panic take
	mostWords = 200       // how many characters of it are told
)

// lastWords returns why a dead sandbox died, as its log has it: what it panicked with, else the last line. It is one
// short line, and "" when there is no log.
func lastWords(root, name string) string {
	dir, err := instance.Open(root, name)
	if err != nil {
		return ""
	}
	line := []rune(printable.Line(reason(tail(dir.Log("sandbox")))))
	return string(line[:min(len(line), mostWords)])
}

// reason finds the line with which a log comes to its end. What follows a panic is stacks, until the log goes on.
func reason(log string) string {
	last, fatal := "", ""
	for line := range strings.SplitSeq(log, "\n") {
		switch {
		case strings.HasPrefix(line, "panic: "), strings.HasPrefix(line, "fatal error: "):
			fatal = line
		case strings.HasPrefix(line, "time="):
			fatal = "" // it was survived
		}
		if strings.TrimSpace(line) != "" {
			last = line
		}
	}
	if fatal != "" {
		return fatal
	}
	return strings.TrimSpace(last)
}

// tail returns the end of a file, "" when it cannot be read.
func tail(path string) string {
	f, err := os.Open(path)
	if err != nil {
		return ""
	}
	defer f.Close()
	if info, err := f.Stat(); err == nil && info.Size() > tailBytes {
		if _, err := f.Seek(-tailBytes, io.SeekEnd); err != nil {
			return ""
		}
	}
	b, err := io.ReadAll(f)
	if err != nil {
		return ""
	}
	return string(b)
}
