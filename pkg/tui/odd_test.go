package tui

import (
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	tea "charm.land/bubbletea/v2"

	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/event"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/sandbox/api"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/tui/text"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/tui/tuitest"
)

// hollow returns rows with empty or unlikely values.
func hollow(name string) []api.Update {
	at := tuitest.Began.Add(-time.Hour) // before anything
	return []api.Update{
		{VCenter: &api.VCenter{Name: name}},
		{Host: &api.Host{Name: name}},
		{VM: &api.VM{Name: name}},
		{Node: &api.Node{Name: name}},
		{Node: &api.Node{Name: name + "2", VM: name, Registered: true}},
		{Component: &api.Component{Name: name}},
		{Volume: &api.Volume{Name: name}},
		{Attachment: &api.Attachment{Name: name}},
		{Service: &api.Service{Name: name, Class: name, Addresses: []string{name}, Ports: []string{name}, NSX: name, NSXError: name}},
		{Lease: &api.Lease{ID: name}},
		{Calls: &api.Calls{VCenter: name}},
		{Lease: &api.Lease{ID: name + "2", Seq: 7, Until: &at, Ended: &at, Targets: []api.LeaseTarget{{}, {Kind: "VM"}}}},
		{Event: &event.Event{Seq: 7}},
		{Event: &event.Event{Seq: 3, Cause: 9}},
		{Event: &event.Event{Seq: 8, Cause: 8, Time: at}},
		{Run: &api.Run{}},
		{Run: &api.Run{State: "running", Steps: []api.RunStep{{}, {State: "running", Began: &at, Event: 99}}}},
		{Synced: true},
		{},
	}
}

// TestAnyKeyAnywhere: no key crashes the UI or spoils its frame, on any screen, with an empty state, empty rows, or odd names.
func TestAnyKeyAnywhere(t *testing.T) {
	var keys []tea.KeyPressMsg
	for r := '!'; r <= '~'; r++ {
		keys = append(keys, tea.KeyPressMsg{Code: r, Text: string(r)})
	}
	for name := range strings.FieldsSeq("enter space up down left right home end pgup pgdown tab backspace ctrl+u ctrl+d ctrl+r ctrl+w ctrl+k esc") {
		k, err := keyOf(name)
		if err != nil {
			t.Fatal(err)
		}
		keys = append(keys, k)
	}
	for what, updates := range map[string][]api.Update{
		"nothing": nil, "hollow": hollow(""), "odd": hollow("a'b\"\n\x1b[2J\u202e宽\xff"),
		"gone": append(hollow("x"), api.Update{VM: &api.VM{Name: "x"}, Deleted: true}, api.Update{Node: &api.Node{Name: "x2"}, Deleted: true}),
	} {
		t.Run(what, func(t *testing.T) {
			m := NewModel(t.Context(), Options{Sandbox: &fake{}, Theme: "dark", Owned: true, Now: func() time.Time { return tuitest.Began }})
			m.kinds, _ = (&fake{}).FaultKinds(t.Context())
			m.faults().SetKinds(m.kinds)
			m.line.SetKinds(m.kinds)
			m.resize(80, 24)
			for _, u := range updates {
				m.take(batch{at: tuitest.Began, updates: []api.Update{u}})
			}
			for screen := '1'; screen <= '6'; screen++ {
				for _, k := range keys {
					m.leaving, m.typing, m.readOnly = false, false, false
					for m.pop() {
					}
					m.press(tea.KeyPressMsg{Code: screen, Text: string(screen)})
					for _, one := range []tea.KeyPressMsg{{Code: 'G', Text: "G"}, k, {Code: tea.KeyDown}, k, {Code: tea.KeyEnter}} {
						m.press(one)
						rows := strings.Split(m.Frame(), "\n")
						for _, row := range rows {
							if len(rows) != 24 || text.Width(row) != 80 || strings.ContainsRune(row, '\u202e') || !utf8.ValidString(row) || strings.Contains(row, "\x1b[2J") {
								t.Fatalf("on %c after %s: %d rows, %d wide: %q", screen, k, len(rows), text.Width(row), row)
							}
						}
					}
				}
			}
		})
	}
}
