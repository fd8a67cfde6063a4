package child

import (
	"bytes"
	"errors"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
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
