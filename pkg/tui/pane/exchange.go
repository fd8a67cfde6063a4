package pane

import (
	"strings"

	"charm.land/bubbles/v2/key"
	tea "charm.land/bubbletea/v2"

	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/sandbox/api"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/tui/intent"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/tui/panel"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/tui/text"
)

// Exchange shows a call with what was sent and answered. Make it with [NewExchange].
type Exchange struct {
	pane
	err error
}

var (
	_ panel.Panel    = (*Exchange)(nil)
	_ panel.Filterer = (*Exchange)(nil)
	_ panel.Clicker  = (*Exchange)(nil)
)

// NewExchange shows a call that is being read; [Exchange.SetExchange] sets the result.
func NewExchange() *Exchange {
	p := &Exchange{pane: newPane("Newest call")}
	p.viewer.set(loading())
	return p
}

// SetExchange sets the call, or the error of reading it.
func (p *Exchange) SetExchange(e api.Exchange, err error) {
	if p.err = err; err != nil {
		p.SetSize(p.width, p.height)
		return
	}
	lines := strings.Split(strings.TrimRight(e.Text, "\n"), "\n")
	p.title = text.Clean("Newest call " + lines[0])
	all := make([]line, 0, len(lines))
	for _, l := range lines[1:] {
		l = strings.TrimPrefix(l, "  ")
		switch {
		case strings.HasPrefix(l, "→"), strings.HasPrefix(l, "←"):
			all = append(all, of(l, title))
		default:
			all = append(all, yamlLines(l)...)
		}
	}
	p.viewer.set(all)
}

// SetSize implements [panel.Panel].
func (p *Exchange) SetSize(width, height int) {
	p.pane.SetSize(width, height)
	if p.err != nil {
		p.viewer.set(failure(p.err, max(20, width)))
	}
}

// Bindings implements [panel.Panel].
func (p *Exchange) Bindings() []key.Binding { return p.keys.live(&p.viewer) }

// Handle implements [panel.Panel].
func (p *Exchange) Handle(k tea.KeyPressMsg) (intent.Intent, bool) {
	return nil, p.keys.handle(&p.viewer, k)
}

// Click implements [panel.Clicker].
func (p *Exchange) Click(_, _ int) (intent.Intent, bool) { return nil, true }
