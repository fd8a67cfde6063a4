package tuitest

import (
	"fmt"
	"strings"
	"unicode/utf8"

	tea "charm.land/bubbletea/v2"
)

// Key makes a key as a terminal sends it from its name, which is what its String is: "j", "G", "/", "space", "enter",
// "shift+tab", "ctrl+u". It panics at a name that no key has.
func Key(name string) tea.KeyPressMsg {
	var k tea.KeyPressMsg
	rest := name
	for {
		mod, after, found := strings.Cut(rest, "+")
		if !found || after == "" || mods[mod] == 0 {
			break
		}
		k.Mod, rest = k.Mod|mods[mod], after
	}
	switch code, special := codes[rest]; {
	case special:
		if k.Code = code; code == tea.KeySpace && k.Mod == 0 {
			k.Text = " "
		}
	case utf8.RuneCountInString(rest) == 1:
		if k.Code, _ = utf8.DecodeRuneInString(rest); k.Mod == 0 {
			k.Text = rest
			if lower := []rune(strings.ToLower(rest))[0]; lower != k.Code {
				k.Code, k.ShiftedCode, k.Mod = lower, k.Code, tea.ModShift
			}
		}
	}
	if k.String() != name {
		panic(fmt.Sprintf("tuitest: key %q: there is none of that name", name))
	}
	return k
}

// Keys makes several, see [Key].
func Keys(names ...string) []tea.KeyPressMsg {
	keys := make([]tea.KeyPressMsg, len(names))
	for i, name := range names {
		keys[i] = Key(name)
	}
	return keys
}

// Type makes the keys that write a text.
func Type(text string) []tea.KeyPressMsg {
	var keys []tea.KeyPressMsg
	for _, r := range text {
		if r == ' ' {
			keys = append(keys, Key("space"))
		} else {
			keys = append(keys, Key(string(r)))
		}
	}
	return keys
}

// Press gives a handler of keys (the Handle of a panel) the keys of those names, and returns the last answer.
func Press[T any](handle func(tea.KeyPressMsg) (T, bool), names ...string) (answer T, taken bool) {
	for _, k := range Keys(names...) {
		answer, taken = handle(k)
	}
	return answer, taken
}

var mods = map[string]tea.KeyMod{"ctrl": tea.ModCtrl, "alt": tea.ModAlt, "shift": tea.ModShift}

var codes = map[string]rune{
	"enter": tea.KeyEnter, "tab": tea.KeyTab, "backspace": tea.KeyBackspace, "esc": tea.KeyEscape, "space": tea.KeySpace,
	"up": tea.KeyUp, "down": tea.KeyDown, "left": tea.KeyLeft, "right": tea.KeyRight, "home": tea.KeyHome, "end": tea.KeyEnd,
	"pgup": tea.KeyPgUp, "pgdown": tea.KeyPgDown, "delete": tea.KeyDelete, "insert": tea.KeyInsert,
	"f1": tea.KeyF1, "f2": tea.KeyF2, "f3": tea.KeyF3, "f4": tea.KeyF4, "f5": tea.KeyF5,
}
