package logs

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"time"

	"github.com/vsphere-sandbox/vsphere-sandbox/internal/printable"
)

// look is how often a file that is followed is looked at. Another process writes it, and file notifications differ per
// system; a person does not see the difference.
const look = 200 * time.Millisecond

// gone is how many looks must find no file for it to be gone for good.
const gone = 3

// cat writes a file, with what a terminal would obey escaped, or its last lines when tail >= 0, and with follow goes on with what is added, until ctx ends or
// the file is gone. A file that is moved away and begun anew, as logs are when they grow too long, is followed.
func cat(ctx context.Context, to io.Writer, path string, tail int, follow bool) (err error) {
	f, err := os.Open(path)
	if err != nil {
		return fmt.Errorf("log: %w", err)
	}
	w := printable.NewWriter(to)
	defer func() { err = errors.Join(err, w.Flush()) }()
	defer func() { f.Close() }()
	if tail >= 0 {
		if err := seekTail(f, tail); err != nil {
			return fmt.Errorf("log: %w", err)
		}
	}
	tick := time.NewTicker(look)
	defer tick.Stop()
	for missing := 0; ; {
		if _, err := io.Copy(w, f); err != nil {
			return fmt.Errorf("log: %w", err)
		}
		if !follow {
			return nil
		}
		select {
		case <-tick.C:
		case <-ctx.Done():
			return ctx.Err()
		}
		next, err := successor(f, path)
		if errors.Is(err, fs.ErrNotExist) {
			if missing++; missing < gone {
				continue // moved away a moment ago
			}
			_, err := io.Copy(w, f)
			return err // the sandbox has ended
		} else if err != nil {
			return fmt.Errorf("log: %w", err)
		}
		missing = 0
		if next != nil {
			if _, err := io.Copy(w, f); err != nil { // what came before it was moved
				_ = next.Close()
				return fmt.Errorf("log: %w", err)
			}
			_ = f.Close()
			f = next
		}
	}
}

// successor returns the file that is at path now when it is not f any more, nil when it still is. A file that has
// become shorter is read from its start.
func successor(f *os.File, path string) (*os.File, error) {
	now, err := os.Stat(path)
	if err != nil {
		return nil, err
	}
	was, err := f.Stat()
	if err != nil {
		return nil, err
	}
	if !os.SameFile(now, was) {
		return os.Open(path)
	}
	if at, err := f.Seek(0, io.SeekCurrent); err == nil && at > now.Size() {
		_, err := f.Seek(0, io.SeekStart)
		return nil, err
	}
	return nil, nil
}

// seekTail moves to the beginning of the last lines of f.
func seekTail(f *os.File, lines int) error {
	end, err := f.Seek(0, io.SeekEnd)
	if err != nil || lines == 0 {
		return err
	}
	buf := make([]byte, 32<<10)
	for at := end; at > 0; {
		n := min(at, int64(len(buf)))
		at -= n
		chunk := buf[:n]
		if _, err := f.ReadAt(chunk, at); err != nil && err != io.EOF {
			return err
		}
		for i := len(chunk); ; {
			i = bytes.LastIndexByte(chunk[:i], '\n')
			if i < 0 {
				break
			}
			if at+int64(i)+1 == end {
				continue // the end of the last line
			}
			if lines--; lines == 0 {
				_, err := f.Seek(at+int64(i)+1, io.SeekStart)
				return err
			}
		}
	}
	_, err = f.Seek(0, io.SeekStart)
	return err
}

// Follow writes the last lines of the log of a component, one of files, and goes on with what is added until ctx ends,
// which is an error, or the log is gone.
func Follow(ctx context.Context, w io.Writer, files map[string]string, component string, tail int) error {
	path, err := choose(files, component)
	if err != nil {
		return err
	}
	return cat(ctx, w, path, tail, true)
}
