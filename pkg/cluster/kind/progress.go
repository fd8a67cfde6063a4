package kind

import (
	"bytes"
	"fmt"
	"strings"
	"sync"
	"time"
	"unicode"
)

// silence is how long nothing may be said before it is said what is still going on.
const silence = 4 * time.Second

// sayf tells one line of progress.
type sayf func(format string, args ...any)

// speaker tells progress, one line at a time, and says so when nothing new happens.
type speaker struct {
	to    func(string)
	heard chan string
	done  chan struct{}
	ended chan struct{}
}

// speak starts a speaker; its stop ends it and waits. to may be nil.
func speak(to func(string)) *speaker {
	if to == nil {
		to = func(string) {}
	}
	s := &speaker{to: to, heard: make(chan string), done: make(chan struct{}), ended: make(chan struct{})}
	go s.run()
	return s
}

func (s *speaker) run() {
	defer close(s.ended)
	since, last := time.Now(), ""
	tick := time.NewTimer(silence)
	defer tick.Stop()
	for {
		select {
		case line := <-s.heard:
			since, last = time.Now(), line
			s.to(line)
		case <-tick.C:
			if last != "" {
				s.to(fmt.Sprintf("still %s (%s)", last, time.Since(since).Round(time.Second)))
			}
		case <-s.done:
			return
		}
		tick.Reset(silence)
	}
}

func (s *speaker) say(format string, args ...any) {
	select {
	case s.heard <- fmt.Sprintf(format, args...):
	case <-s.done:
	}
}

func (s *speaker) stop() {
	close(s.done)
	<-s.ended
}

// lines is a writer that says each line.
type lines struct {
	say sayf
	mu  sync.Mutex
	got []byte
}

func (l *lines) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.got = append(l.got, p...)
	for {
		i := bytes.IndexAny(l.got, "\r\n")
		if i < 0 {
			return len(p), nil
		}
		if line := strings.TrimSpace(string(l.got[:i])); line != "" {
			l.say("%s", line)
		}
		l.got = l.got[i+1:]
	}
}

// plain takes bullets, ticks and pictures from what kind says: "preparing nodes" of " • Preparing nodes 📦 📦  ...".
func plain(text string) string {
	text = strings.Map(func(r rune) rune {
		if r > unicode.MaxLatin1 || !unicode.IsPrint(r) && r != '\n' {
			return ' '
		}
		return r
	}, text)
	text = strings.TrimSuffix(strings.Join(strings.Fields(text), " "), "...")
	text = strings.TrimSpace(text)
	if text == "" {
		return ""
	}
	if strings.HasPrefix(text, "Creating cluster") || len(text) > 1 && unicode.IsLower(rune(text[1])) {
		return strings.ToLower(text[:1]) + text[1:]
	}
	return text
}
