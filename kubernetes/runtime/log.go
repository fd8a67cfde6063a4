package runtime

import (
	"bytes"
	"io"
	"os"
	"path/filepath"
	"sync"
	"time"
)

const (
	// lineBytes is the longest line of a log; of a longer one, the parts are marked.
	lineBytes = 16 << 10
	// logBurst and logRate bound what a container writes, in bytes and bytes per second: it waits, as it would at a full pipe. The
	// kubelet rotates logs every ten seconds.
	logBurst = 1 << 20
	logRate  = 256 << 10
)

// containerLog is the log file of a container, in the format of the CRI, and what is attached to the container.
type containerLog struct {
	path string
	// ended stops a writer that waits.
	ended <-chan struct{}

	mu       sync.Mutex
	file     *os.File
	allowed  float64 // bytes that may be written now
	at       time.Time
	attached map[*attachment]struct{}
}

// attachment receives output; one that does not take it in time is dropped.
type attachment struct {
	stdout, stderr io.Writer
}

// open opens the file. An empty path is a container without a log.
func (l *containerLog) open() error {
	if l.path == "" {
		return nil
	}
	if err := os.MkdirAll(filepath.Dir(l.path), 0o755); err != nil {
		return err
	}
	f, err := os.OpenFile(l.path, os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o640)
	if err != nil {
		return err
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.file != nil {
		_ = l.file.Close()
	}
	l.file = f
	return nil
}

func (l *containerLog) close() {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.file != nil {
		_ = l.file.Close()
		l.file = nil
	}
}

// attach adds a receiver until the returned function is called.
func (l *containerLog) attach(a *attachment) (detach func()) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.attached == nil {
		l.attached = map[*attachment]struct{}{}
	}
	l.attached[a] = struct{}{}
	return func() {
		l.mu.Lock()
		defer l.mu.Unlock()
		delete(l.attached, a)
	}
}

// stream returns the writer of "stdout" or "stderr". Close it to write a last line that has no end.
func (l *containerLog) stream(name string) *logStream { return &logStream{log: l, name: name} }

// logStream writes whole lines.
type logStream struct {
	log  *containerLog
	name string

	mu   sync.Mutex
	line []byte
}

// Write implements io.Writer. It never fails: a container without a log loses its output.
func (s *logStream) Write(p []byte) (int, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.log.pass(s.name, p)
	for rest := p; len(rest) > 0; {
		line, after, whole := bytes.Cut(rest, []byte("\n"))
		s.line = append(s.line, line...)
		for len(s.line) > lineBytes {
			s.log.write(s.name, "P", s.line[:lineBytes])
			s.line = append(s.line[:0], s.line[lineBytes:]...)
		}
		if whole {
			s.log.write(s.name, "F", s.line)
			s.line = s.line[:0]
		}
		rest = after
	}
	return len(p), nil
}

// Close writes what has no end of line.
func (s *logStream) Close() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if len(s.line) > 0 {
		s.log.write(s.name, "F", s.line)
		s.line = nil
	}
	return nil
}

// pass gives output to what is attached.
func (l *containerLog) pass(stream string, p []byte) {
	l.mu.Lock()
	var to []*attachment
	for a := range l.attached {
		to = append(to, a)
	}
	l.mu.Unlock()
	for _, a := range to {
		w := a.stdout
		if stream == "stderr" {
			w = a.stderr
		}
		if w == nil {
			continue
		}
		if _, err := w.Write(p); err != nil {
			l.mu.Lock()
			delete(l.attached, a)
			l.mu.Unlock()
		}
	}
}

// write writes one line, when it may.
func (l *containerLog) write(stream, tag string, line []byte) {
	if l.path == "" {
		return
	}
	now := time.Now()
	b := now.UTC().AppendFormat(make([]byte, 0, len(line)+64), time.RFC3339Nano)
	b = append(b, ' ')
	b = append(b, stream...)
	b = append(b, ' ')
	b = append(b, tag...)
	b = append(b, ' ')
	b = append(b, line...)
	b = append(b, '\n')

	l.mu.Lock()
	if l.at.IsZero() {
		l.allowed = logBurst
	} else {
		l.allowed = min(logBurst, l.allowed+now.Sub(l.at).Seconds()*logRate)
	}
	l.at = now
	l.allowed -= float64(len(b))
	wait := time.Duration(-l.allowed / logRate * float64(time.Second))
	if l.file != nil {
		_, _ = l.file.Write(b)
	}
	l.mu.Unlock()
	if wait > 0 {
		timer := time.NewTimer(wait)
		defer timer.Stop()
		select {
		case <-timer.C:
		case <-l.ended:
		}
	}
}
