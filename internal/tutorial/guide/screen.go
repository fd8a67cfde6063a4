package guide

import (
	"fmt"
	"io"
	"strings"
	"sync"
	"time"
	"unicode/utf8"
)

// Look is the output format of a guide. The zero value is plain text of 80 columns.
type Look struct {
	// Text renders Markdown for the terminal; nil leaves it unchanged.
	Text func(markdown string) string
	// Styled reports whether the terminal understands escape sequences.
	Styled bool
	// Width is the terminal's; 80 if 0.
	Width int
}

// The styles, as ANSI numbers.
const (
	bold  = 1
	dim   = 2
	red   = 31
	green = 32
	amber = 33
)

// screen is the reader's terminal. A command and the guide may write concurrently.
type screen struct {
	look Look

	mu   sync.Mutex
	out  io.Writer
	last time.Time // the last write
	open bool      // the line has no line break yet
	owed bool      // its line break was written ahead of the command's own
	err  error     // the first
}

// Write writes the output of a command unchanged.
func (s *screen) Write(p []byte) (int, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	text := string(p)
	if s.owed {
		text = strings.TrimPrefix(text, "\n") // a shell writes a line break only with what follows
	}
	s.owed = false
	s.put(text)
	return len(p), nil // a closed screen does not end a command
}

func (s *screen) put(text string) {
	if text == "" {
		return
	}
	_, err := io.WriteString(s.out, text)
	if s.err == nil {
		s.err = err
	}
	s.last, s.open = time.Now(), !strings.HasSuffix(text, "\n")
}

// say writes lines of the guide, below any output.
func (s *screen) say(format string, args ...any) { s.line(0, fmt.Sprintf(format, args...)) }

// line writes a line with a style; 0 is none.
func (s *screen) line(style int, text string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.owed = false
	if s.open {
		s.put("\n")
	}
	s.put(s.styled(style, text) + "\n")
}

// ask writes a question, and leaves the cursor there.
func (s *screen) ask(text string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.open {
		s.put("\n")
	}
	s.put(s.styled(dim, text) + " ")
}

// answered records that the reader has ended the line.
func (s *screen) answered() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.open = false
}

func (s *screen) styled(style int, text string) string {
	if style == 0 || !s.look.Styled {
		return text
	}
	return fmt.Sprintf("\x1b[%dm%s\x1b[0m", style, text)
}

// text writes Markdown, below an empty line.
func (s *screen) text(markdown string) {
	if s.look.Text != nil {
		markdown = s.look.Text(markdown)
	}
	s.say("\n%s", strings.TrimRight(markdown, "\n"))
}

// command writes a command as it is typed.
func (s *screen) command(text string) {
	s.line(bold, "\n  $ "+strings.ReplaceAll(text, "\n", "\n  > "))
}

// width returns the width of a line.
func (s *screen) width() int {
	const usual = 80
	if s.look.Width == 0 {
		return usual
	}
	return s.look.Width
}

// question puts the answers into brackets, in lines with room for the reader's answer. It does not break an answer.
func (s *screen) question(answers []string) string {
	const room, indent = 4, "   "
	text, line := "", "  ["
	for i, a := range answers {
		end := " · "
		if i == len(answers)-1 {
			end = "]"
		}
		if line != indent && i > 0 && utf8.RuneCountInString(line+a+end)+room > s.width() {
			text, line = text+strings.TrimRight(line, " ")+"\n", indent
		}
		line += a + end
	}
	return text + line
}

// words writes a sentence of the guide, wrapped, below a sign.
func (s *screen) words(style int, sign, text string) {
	width := s.width()
	first := sign
	if sign != "" {
		first += " "
	}
	then := strings.Repeat(" ", utf8.RuneCountInString(first))
	var lines []string
	line, empty := first, true
	for word := range strings.FieldsSeq(text) {
		if !empty && utf8.RuneCountInString(line)+1+utf8.RuneCountInString(word) > width {
			lines = append(lines, line)
			line, empty = then, true
		}
		if !empty {
			line += " "
		}
		line, empty = line+word, false
	}
	s.line(style, strings.Join(append(lines, line), "\n"))
}

// still writes a sign when nothing has been written for a while. The next output of a command starts a new line.
func (s *screen) still(often time.Duration, sign string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if time.Since(s.last) < often {
		return
	}
	open := s.open
	if open {
		s.put("\n")
	}
	s.put(s.styled(dim, sign) + "\n")
	s.owed = open
}

// awake reports progress every few seconds until stop, so that the guide does not seem to hang. In what, %s is the elapsed time.
func (s *screen) awake(what string) (stop func()) {
	const often = 4 * time.Second
	begin, done, joined := time.Now(), make(chan struct{}), make(chan struct{})
	s.mu.Lock()
	s.last = begin // the reader's time does not count
	s.mu.Unlock()
	go func() {
		defer close(joined)
		tick := time.NewTicker(often / 4)
		defer tick.Stop()
		for {
			select {
			case <-done:
				return
			case <-tick.C:
				s.still(often, fmt.Sprintf("  … "+what, time.Since(begin).Round(time.Second)))
			}
		}
	}()
	return func() { close(done); <-joined }
}
