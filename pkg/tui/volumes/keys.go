package volumes

import (
	"charm.land/bubbles/v2/key"
	tea "charm.land/bubbletea/v2"

	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/sandbox/api"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/tui/glance"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/tui/intent"
)

type keys struct {
	up, down, top, bottom, pageUp, pageDown key.Binding
	next, previous, sort                    key.Binding
	chain, detach, outOfService             key.Binding
}

func newKeys() keys {
	bind := func(help, what string, keys ...string) key.Binding {
		return key.NewBinding(key.WithKeys(keys...), key.WithHelp(help, what))
	}
	return keys{
		up: bind("↑/k", "up", "up", "k"), down: bind("↓/j", "down", "down", "j"),
		top: bind("g", "first row", "g", "home"), bottom: bind("G", "last row", "G", "end"),
		pageUp: bind("pgup", "page up", "pgup", "ctrl+u"), pageDown: bind("pgdn", "page down", "pgdown", "ctrl+d"),
		next: bind("n", "next that waits", "n"), previous: bind("N", "one before that waits", "N"),
		sort:         bind("s", "sort by name or state", "s"),
		chain:        bind("space/t", "newest event in the timeline", "space", "t"),
		detach:       bind("d", "detach its disk in vSphere", "d"),
		outOfService: bind("O", "its node out of service", "O"),
	}
}

// Bindings returns the keys of the volumes.
func (s *Screen) Bindings() []key.Binding {
	k := s.now()
	return []key.Binding{k.up, k.down, k.top, k.bottom, k.pageUp, k.pageDown, k.next, k.previous, k.sort, k.chain, k.detach, k.outOfService}
}

// Writes returns the keys that change the sandbox.
func (s *Screen) Writes() []string { return []string{"d", "O"} }

// now returns the keys, with those disabled that have no effect.
func (s *Screen) now() keys {
	k := s.keys
	v, ok := s.current()
	for _, b := range []*key.Binding{&k.up, &k.down, &k.top, &k.bottom, &k.pageUp, &k.pageDown, &k.sort} {
		b.SetEnabled(ok)
	}
	waits := s.waiting() > 0
	k.next.SetEnabled(waits)
	k.previous.SetEnabled(waits)
	k.chain.SetEnabled(ok)
	k.detach.SetEnabled(ok && v.VM != "" && v.Driver == csiDriver)
	node, ok := s.node(v)
	k.outOfService.SetEnabled(ok)
	if ok && glance.OutOfService(node.Taints) {
		k.outOfService.SetHelp("O", "its node back in service")
	}
	return k
}

// Handle handles the keys of [Screen.Bindings].
func (s *Screen) Handle(msg tea.KeyPressMsg) (intent.Intent, bool) {
	k := s.now()
	v, _ := s.current()
	switch {
	case key.Matches(msg, k.up):
		s.table.Move(-1)
	case key.Matches(msg, k.down):
		s.table.Move(1)
	case key.Matches(msg, k.top):
		s.table.Move(-s.table.Len())
	case key.Matches(msg, k.bottom):
		s.table.Move(s.table.Len())
	case key.Matches(msg, k.pageUp):
		s.table.Move(-s.table.Page())
	case key.Matches(msg, k.pageDown):
		s.table.Move(s.table.Page())
	case key.Matches(msg, k.next):
		s.seek(1)
	case key.Matches(msg, k.previous):
		s.seek(-1)
	case key.Matches(msg, k.sort):
		s.byState = !s.byState
		s.list()
	case key.Matches(msg, k.chain):
		if e, ok := lastEvent(s.state, v); ok {
			return intent.Chain{Seq: e.Seq}, true
		}
		return intent.Say{Text: "no events about " + title(v)}, true
	case key.Matches(msg, k.detach):
		return intent.Prompt{Text: intent.Quote("volume", "detach", title(v))}, true
	case key.Matches(msg, k.outOfService):
		node, _ := s.node(v)
		return intent.OutOfService{OutOfServiceRequest: api.OutOfServiceRequest{Node: node.Name, Remove: glance.OutOfService(node.Taints)}}, true
	default:
		return nil, false
	}
	return nil, true
}
