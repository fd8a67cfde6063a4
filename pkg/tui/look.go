package tui

import "github.com/vsphere-sandbox/vsphere-sandbox/pkg/tui/theme"

// themeOf is the theme of a name; "" is that for a dark or a light terminal.
func themeOf(name string, dark bool) *theme.Theme {
	switch {
	case name == "mono":
		return theme.Mono()
	case name == "light", name == "" && !dark:
		return theme.Light()
	}
	return theme.Dark()
}
