package shell

import (
	"bytes"
	"io"
	"sync"

	"golang.org/x/term"
)

// Terminal is the client's: it knows its size. The zero value is one of 80 columns.
type Terminal struct {
	mu            sync.Mutex
	width, height int
	changed       func(width, height int)
}

// Resize sets the size. A client that does not know its size reports 0.
func (t *Terminal) Resize(width, height int) {
	if width <= 0 || height <= 0 {
		return
	}
	t.mu.Lock()
	t.width, t.height = width, height
	changed := t.changed
	t.mu.Unlock()
	if changed != nil {
		changed(width, height)
	}
}

// termSession edits lines for a program on a terminal. It is what the program reads and writes.
type termSession struct {
	line *term.Terminal

	mu   sync.Mutex
	rest []byte
}

func newTermSession(p *Program) *termSession {
	in := p.Stdin
	if in == nil {
		in = bytes.NewReader(nil)
	}
	s := &termSession{line: term.NewTerminal(struct {
		io.Reader
		io.Writer
	}{in, p.Stdout}, "")}
	t := p.Terminal
	t.mu.Lock()
	defer t.mu.Unlock()
	t.changed = func(width, height int) { _ = s.line.SetSize(width, height) }
	if t.width > 0 {
		_ = s.line.SetSize(t.width, t.height)
	}
	return s
}

// prompt sets what is before the next line.
func (s *termSession) prompt(text string) { s.line.SetPrompt(text) }

// Read implements io.Reader: a line at most.
func (s *termSession) Read(b []byte) (int, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if len(s.rest) == 0 {
		line, err := s.line.ReadLine()
		if err != nil {
			return 0, err
		}
		s.rest = append([]byte(line), '\n')
	}
	n := copy(b, s.rest)
	s.rest = s.rest[n:]
	return n, nil
}

// Write implements io.Writer.
func (s *termSession) Write(b []byte) (int, error) { return s.line.Write(b) }
