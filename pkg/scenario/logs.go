package scenario

import (
	"bytes"
	"context"
	"errors"
	"io"
	"os"
	"path/filepath"
	"time"

	"github.com/fsnotify/fsnotify"

	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/sandbox/api"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/sandbox/api/world"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/scenario/expect"
)

// logs follows the logs of components. Only the goroutine of [logs.follow], and callers of [logs.read] before or after it, use
// its files; the lines belong to the session.
type logs struct {
	session *session
	files   map[string]*logFile // by component
	asked   chan chan struct{}
}

// logFile is the state of reading a log.
type logFile struct {
	path   string
	offset int64
	rest   []byte // an incomplete line
}

// maxRead bounds one read of a log, maxLines the lines that are kept.
const (
	maxRead  = 8 << 20
	maxLines = 200_000
)

func newLogs(s *session, components []string) *logs {
	l := &logs{session: s, files: map[string]*logFile{}, asked: make(chan chan struct{})}
	for _, name := range components {
		l.files[name] = &logFile{}
	}
	l.find(true)
	return l
}

// find finds the logs. Lines that exist at the beginning do not count.
func (l *logs) find(beginning bool) {
	l.session.with(func(v *expect.View) {
		for _, c := range world.Values[api.Component](v.World, world.Component) {
			f := l.files[c.Name]
			if f == nil || c.Log == "" || f.path == c.Log {
				continue
			}
			f.path, f.offset, f.rest = c.Log, 0, nil
			if info, err := os.Stat(c.Log); err == nil && beginning {
				f.offset = info.Size()
			}
		}
	})
}

// follow reads new lines until ctx ends. If the system has no watch left (users have few, and share them), it polls.
func (l *logs) follow(ctx context.Context) error {
	again := time.NewTicker(pollEvery)
	defer again.Stop()
	notify, err := fsnotify.NewWatcher()
	if err != nil {
		notify = &fsnotify.Watcher{} // never sends
	} else {
		again.Stop()
		defer notify.Close()
	}
	blind := err != nil
	watched := map[string]bool{}
	for {
		for _, f := range l.files {
			// The folder is watched, as the file may be replaced.
			if dir := filepath.Dir(f.path); f.path != "" && !watched[dir] && !blind {
				if err := notify.Add(dir); err != nil {
					blind = true
					again.Reset(pollEvery)
				}
				watched[dir] = true
			}
		}
		l.read()
		var done chan struct{}
		select {
		case <-ctx.Done():
			return nil
		case <-notify.Events:
		case <-again.C:
		case err := <-notify.Errors:
			if err != nil && !errors.Is(err, fsnotify.ErrEventOverflow) {
				return err
			}
		case done = <-l.asked:
			l.find(false)
			l.read()
			close(done)
		}
	}
}

// catchUp returns after it has read all earlier output.
func (l *logs) catchUp(ctx context.Context) {
	done := make(chan struct{})
	select {
	case l.asked <- done:
		<-done
	case <-ctx.Done():
	}
}

// read reads the output since the last call.
func (l *logs) read() {
	fresh := map[string][]string{}
	for name, f := range l.files {
		if f.path != "" {
			fresh[name] = f.lines()
		}
	}
	for name, lines := range fresh {
		if len(lines) == 0 {
			continue
		}
		l.session.refresh(func(v *expect.View) {
			if have := v.Lines[name]; len(have) < maxLines {
				v.Lines[name] = append(have, lines...)
			}
		})
	}
}

// lines returns the output since the last call. A file that cannot be read has none.
func (f *logFile) lines() []string {
	file, err := os.Open(f.path)
	if err != nil {
		return nil
	}
	defer file.Close() // only read from: closing cannot lose anything
	if info, err := file.Stat(); err == nil && info.Size() < f.offset {
		f.offset, f.rest = 0, nil // it was truncated
	}
	data, err := io.ReadAll(io.NewSectionReader(file, f.offset, maxRead))
	if err != nil {
		return nil
	}
	f.offset += int64(len(data))
	data = append(f.rest, data...)
	end := bytes.LastIndexByte(data, '\n') + 1
	f.rest = bytes.Clone(data[end:])
	var lines []string
	for line := range bytes.Lines(data[:end]) {
		lines = append(lines, string(bytes.TrimRight(line, "\r\n")))
	}
	return lines
}
