package e2e

import (
	"bytes"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"time"
)

// terminal is one of tmux, in which the program runs with keys pressed and a screen to look at.
type terminal struct {
	*home
	socket string
}

// openTerminal runs the program in a terminal of a size. The test is skipped where there is no tmux.
func (h *home) openTerminal(width, height int, args ...string) *terminal {
	h.T.Helper()
	if _, err := exec.LookPath("tmux"); err != nil {
		h.T.Skip("no tmux on this machine: apt-get install tmux")
	}
	term := &terminal{home: h, socket: filepath.Join(h.Tmp, "tmux")}
	c := h.Cmd(args...)
	// The last words of the program stay on the screen when it has ended, with its exit status.
	script := "trap : INT; " + quote(append([]string{c.Path}, args...)...) + `; echo "exit status $?"; exec cat`
	begin := term.tmux("-f", os.DevNull, "new-session", "-d", "-x", fmt.Sprint(width), "-y", fmt.Sprint(height), "sh", "-c", script)
	h.T.Cleanup(func() {
		if h.T.Failed() {
			h.T.Logf("the screen at the end:\n%s", term.screen())
		}
		_ = term.tmux("kill-server").Run()
		_ = os.Remove(term.socket)
	})
	if out, err := begin.CombinedOutput(); err != nil {
		h.T.Fatalf("tmux: %v\n%s", err, out)
	}
	return term
}

// tmux prepares a command of this terminal's own tmux.
func (term *terminal) tmux(args ...string) *exec.Cmd {
	c := exec.Command("tmux", append([]string{"-S", term.socket}, args...)...)
	c.Env = append(term.Cmd().Env, "TERM=xterm-256color")
	c.Dir = term.Tmp
	c.SysProcAttr = &syscall.SysProcAttr{Credential: as}
	return c
}

// press presses keys, by tmux's names.
func (term *terminal) press(keys ...string) {
	term.T.Helper()
	if out, err := term.tmux(append([]string{"send-keys"}, keys...)...).CombinedOutput(); err != nil {
		term.T.Fatalf("send-keys %v: %v\n%s", keys, err, out)
	}
}

// typed types a text as it is.
func (term *terminal) typed(text string) { term.T.Helper(); term.press("-l", text) }

// screen returns the visible text.
func (term *terminal) screen() string {
	var out bytes.Buffer
	c := term.tmux("capture-pane", "-p")
	c.Stdout = &out
	if err := c.Run(); err != nil {
		return "no screen: " + err.Error()
	}
	return out.String()
}

// await waits until the screen is as it has to be.
func (term *terminal) await(what string, within time.Duration, holds func(screen string) bool) string {
	term.T.Helper()
	begin := time.Now()
	for {
		s := term.screen()
		if holds(s) {
			term.T.Logf("%6.2fs  %s", time.Since(begin).Seconds(), what)
			return s
		}
		if time.Since(begin) > within {
			term.T.Fatalf("waited %s for: %s; the screen is\n%s", within, what, s)
		}
		time.Sleep(50 * time.Millisecond) // a screen must be polled
	}
}

// shows reports whether all texts are on one line of the screen.
func shows(texts ...string) func(string) bool {
	return func(screen string) bool {
		for line := range strings.Lines(screen) {
			all := true
			for _, text := range texts {
				all = all && strings.Contains(line, text)
			}
			if all {
				return true
			}
		}
		return false
	}
}

// quote writes words for a shell.
func quote(words ...string) string {
	quoted := make([]string, len(words))
	for i, w := range words {
		quoted[i] = "'" + strings.ReplaceAll(w, "'", `'\''`) + "'"
	}
	return strings.Join(quoted, " ")
}
