package tui

import "charm.land/bubbles/v2/key"

// keymap are the keys of the root model. Those of panels are their own.
type keymap struct {
	help, prompt, filter, next, previous, back, quit, force, suspend key.Binding
	readOnly, logs, why, details, power, breaks, focus               key.Binding
	screens                                                          key.Binding
	pause, rewind, forward, slower, faster                           key.Binding
}

func newKeymap() keymap {
	b := func(keys []string, shown, does string) key.Binding {
		return key.NewBinding(key.WithKeys(keys...), key.WithHelp(shown, does))
	}
	return keymap{
		help:     b([]string{"?", "f1"}, "?", "all keys"),
		prompt:   b([]string{":"}, ":", "command"),
		filter:   b([]string{"/"}, "/", "filter"),
		next:     b([]string{"tab"}, "tab", "next screen"),
		previous: b([]string{"shift+tab"}, "shift+tab", "previous screen"),
		back:     b([]string{"esc"}, "esc", "back"),
		quit:     b([]string{"q"}, "q", "quit"),
		force:    b([]string{"ctrl+c"}, "ctrl+c", "quit; twice, at once"),
		suspend:  b([]string{"ctrl+z"}, "ctrl+z", "to the shell; fg comes back"),
		readOnly: b([]string{"ctrl+r"}, "ctrl+r", "read-only on/off"),
		logs:     b([]string{"l"}, "l", "logs"),
		why:      b([]string{"w"}, "w", "why"),
		details:  b([]string{"y", "enter"}, "enter/y", "details"),
		power:    b([]string{"p"}, "p", "power"),
		breaks:   b([]string{"f"}, "f", "break it"),
		focus:    b([]string{"o"}, "o", "show in overview"),
		screens:  b([]string{"1", "2", "3", "4", "5", "6"}, "1-6", "screens"),
		pause:    b([]string{"P"}, "P", "pause/play"),
		rewind:   b([]string{"<"}, "<", "10s back"),
		forward:  b([]string{">"}, ">", "10s on"),
		slower:   b([]string{"{"}, "{", "half speed"),
		faster:   b([]string{"}"}, "}", "double speed"),
	}
}

// all are all of them.
func (k *keymap) all() []*key.Binding {
	return []*key.Binding{
		&k.help, &k.prompt, &k.filter, &k.next, &k.previous, &k.back, &k.quit, &k.force, &k.suspend, &k.readOnly, &k.logs, &k.why, &k.details,
		&k.power, &k.breaks, &k.focus, &k.screens, &k.pause, &k.rewind, &k.forward, &k.slower, &k.faster,
	}
}

// general are the keys for the help, as they are now.
func (k keymap) general() []key.Binding {
	return []key.Binding{
		k.screens, k.next, k.previous, k.prompt, k.filter, k.back, k.help, k.quit, k.force, k.suspend, k.readOnly,
	}
}

// selected are those that are about what is selected.
func (k keymap) selected() []key.Binding {
	return []key.Binding{k.details, k.why, k.logs, k.power, k.breaks, k.focus}
}

// playing are those of a recording.
func (k keymap) playing() []key.Binding {
	return []key.Binding{k.pause, k.rewind, k.forward, k.slower, k.faster}
}
