package kind

import (
	"fmt"
	"strings"
	"sync"

	"sigs.k8s.io/kind/pkg/log"
)

// logger is kind's logger: what is for its users goes to say, and all that kubeadm has said is kept for when it fails.
type logger struct {
	say sayf

	mu   sync.Mutex
	last string // what kind is about
	kept []string
}

var _ log.Logger = (*logger)(nil)

// keptLines are enough to find a reason in; kubeadm says some 500 lines a node.
const keptLines = 3000

func (l *logger) Warn(message string)               { l.say("kind: %s", plain(message)) }
func (l *logger) Warnf(format string, args ...any)  { l.Warn(fmt.Sprintf(format, args...)) }
func (l *logger) Error(message string)              { l.say("kind: %s", plain(message)) }
func (l *logger) Errorf(format string, args ...any) { l.Error(fmt.Sprintf(format, args...)) }
func (l *logger) V(level log.Level) log.InfoLogger  { return &leveled{l, level} }

// leveled is one of kind's levels of detail: 0 is for its users.
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
	// kind says each step twice: when it begins ("•") and when it is over ("✓" or "✗").
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

// step is what kind was about last, output what was kept.
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
