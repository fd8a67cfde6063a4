package pane

import (
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/tui/theme"
)

// look is how a piece of text looks, whatever the theme.
type look uint8

const (
	plain look = iota
	dim
	title
	field
	good
	warn
	bad
	link
	press
	vsphere
	kube
	sandbox
)

func (l look) style(t *theme.Theme) theme.Style {
	switch l {
	case dim:
		return t.Dim
	case title:
		return t.Title
	case field:
		return t.Header
	case good:
		return t.Good
	case warn:
		return t.Warn
	case bad:
		return t.Bad
	case link:
		return t.Link
	case press:
		return t.Key
	case vsphere:
		return t.VSphere
	case kube:
		return t.Kube
	case sandbox:
		return t.Sandbox
	}
	return t.Text
}
