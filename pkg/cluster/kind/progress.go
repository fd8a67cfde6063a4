package kind

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"strings"
	"sync"
	"time"
	"unicode"

	"sigs.k8s.io/kind/pkg/log"
)

// silence is the longest time without a line of progress.
const silence = 4 * time.Second

// sayf reports one line of progress.
type sayf func(format string, args ...any)

// speaker reports progress line by line, and repeats the current step when nothing new happens.
type speaker struct {
	to    func(string)
	heard chan string
	done  chan struct{}
	ended chan struct{}
}

// speak starts a speaker; stop ends it and waits. to may be nil.
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

// lines is a writer that reports each line.
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

// plain removes bullets, ticks and emoji from kind's messages: "preparing nodes" from " • Preparing nodes 📦 📦  ...".
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

// logger is kind's logger: messages for users go to say, and kubeadm's output is kept for a failure.
type logger struct {
	say sayf

	mu   sync.Mutex
	last string // kind's current step
	kept []string
}

var _ log.Logger = (*logger)(nil)

// keptLines suffice to find a reason; kubeadm prints some 500 lines a node.
const keptLines = 3000

func (l *logger) Warn(message string)               { l.say("kind: %s", plain(message)) }
func (l *logger) Warnf(format string, args ...any)  { l.Warn(fmt.Sprintf(format, args...)) }
func (l *logger) Error(message string)              { l.say("kind: %s", plain(message)) }
func (l *logger) Errorf(format string, args ...any) { l.Error(fmt.Sprintf(format, args...)) }
func (l *logger) V(level log.Level) log.InfoLogger  { return &leveled{l, level} }

// leveled is one of kind's verbosity levels: 0 is for users.
type leveled struct {
	*logger
	level log.Level
}

func (v *leveled) Enabled() bool                    { return true }
func (v *leveled) Infof(format string, args ...any) { v.Info(fmt.Sprintf(format, args...)) }

func (v *leveled) Info(message string) {
	if v.level > 0 {
		v.keep(message)
		return
	}
	// kind prints each step twice: at its beginning ("•") and at its end ("✓" or "✗").
	text := plain(message)
	switch {
	case text == "":
	case strings.Contains(message, "✓"), strings.Contains(message, "✗"):
	default:
		v.mu.Lock()
		v.last = text
		v.mu.Unlock()
		v.say("%s", text)
	}
}

func (l *logger) keep(text string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.kept = append(l.kept, strings.Split(text, "\n")...)
	if over := len(l.kept) - keptLines; over > 0 {
		l.kept = append([]string(nil), l.kept[over:]...)
	}
}

// step returns kind's last step, output the kept lines.
func (l *logger) step() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.last
}

func (l *logger) output() []string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return append([]string(nil), l.kept...)
}

// Logs writes the logs of the runtime and of the running nodes into dir, which is created, with a folder for each node.
// The files are for their owner only: Kubernetes logs no secrets, but programs in pods may.
func (c *Cluster) Logs(ctx context.Context, dir string) error {
	if c.rt == nil {
		return fmt.Errorf("cluster %s: was not created", c.Name())
	}
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return err
	}
	collected := make(chan error, 1)
	l := &logger{say: func(string, ...any) {}}
	go func() { collected <- c.provider(l).CollectLogs(c.Name(), dir) }()
	select {
	case err := <-collected:
		if entries, e := os.ReadDir(dir); err != nil && e == nil && len(entries) > 0 {
			return nil // every image lacks some of the programs
		}
		return err
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}
