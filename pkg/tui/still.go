package tui

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	tea "charm.land/bubbletea/v2"
	"github.com/charmbracelet/x/ansi"
)

// Still is one frame of a recording as text: at an offset, after some keys, named as in the help and with spaces
// between ("2 j enter"). It is the same whenever and wherever it is made: in the mono theme, without escapes.
func Still(o Options, width, height int, at time.Duration, keys string) (string, error) {
	if o.Player == nil {
		return "", errors.New("a frame is made of a recording")
	}
	o.Theme = "mono"
	m := NewModel(context.Background(), o)
	m.resize(width, height)
	m.play.paused = true
	m.play.seek(at)
	m.state = m.play.state
	m.tell()
	m.bind()
	for name := range strings.FieldsSeq(keys) {
		k, err := keyOf(name)
		if err != nil {
			return "", err
		}
		m.press(k)
	}
	rows := strings.Split(ansi.Strip(m.Frame()), "\n")
	for i := range rows {
		rows[i] = strings.TrimRight(rows[i], " ")
	}
	return strings.Join(rows, "\n"), nil
}

// keyOf is the key of a name.
func keyOf(name string) (tea.KeyPressMsg, error) {
	special := map[string]rune{
		"enter": tea.KeyEnter, "esc": tea.KeyEscape, "tab": tea.KeyTab, "up": tea.KeyUp, "down": tea.KeyDown, "left": tea.KeyLeft,
		"right": tea.KeyRight, "home": tea.KeyHome, "end": tea.KeyEnd, "pgup": tea.KeyPgUp, "pgdown": tea.KeyPgDown,
		"backspace": tea.KeyBackspace, "delete": tea.KeyDelete, "f1": tea.KeyF1,
	}
	if code, ok := special[name]; ok {
		return tea.KeyPressMsg{Code: code}, nil
	}
	switch letter, ctrl := strings.CutPrefix(name, "ctrl+"); {
	case name == "space":
		return tea.KeyPressMsg{Code: tea.KeySpace, Text: " "}, nil
	case name == "shift+tab":
		return tea.KeyPressMsg{Code: tea.KeyTab, Mod: tea.ModShift}, nil
	case ctrl && len(letter) == 1:
		return tea.KeyPressMsg{Code: rune(letter[0]), Mod: tea.ModCtrl}, nil
	case len([]rune(name)) == 1:
		return tea.KeyPressMsg{Code: []rune(name)[0], Text: name}, nil
	}
	return tea.KeyPressMsg{}, fmt.Errorf("there is no key %q; letters are single, others are enter, esc, tab, up, down, pgdown, space, ctrl+r", name)
}
