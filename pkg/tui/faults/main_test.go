package faults

import (
	"encoding/json"
	"os"
	"testing"
	"time"

	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/sandbox/api"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/tui/fold"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/tui/panel"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/tui/theme"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/tui/tuitest"
)

// What the root model looks for in panels.
var (
	_ panel.Panel    = (*Screen)(nil)
	_ panel.Filterer = (*Screen)(nil)
	_ panel.Selector = (*Screen)(nil)
	_ panel.Clicker  = (*Screen)(nil)
	_ panel.Writer   = (*Screen)(nil)
	_ panel.Popup    = (*Menu)(nil)
	_ panel.Typist   = (*Menu)(nil)
	_ panel.Clicker  = (*Menu)(nil)
	_ panel.Popup    = (*Form)(nil)
	_ panel.Typist   = (*Form)(nil)
)

// kinds returns part of the catalogue, as a sandbox sends it.
func kinds(t testing.TB) []api.FaultKind {
	t.Helper()
	b, err := os.ReadFile("testdata/kinds.json")
	if err != nil {
		t.Fatal(err)
	}
	var all []api.FaultKind
	if err := json.Unmarshal(b, &all); err != nil {
		t.Fatal(err)
	}
	return all
}

func kindOf(t testing.TB, name string) api.FaultKind {
	t.Helper()
	if name == "nothing.to-ask" {
		return api.FaultKind{Name: name, Short: "happens to the whole sandbox", Object: "Sandbox", Momentary: true}
	}
	for _, k := range kinds(t) {
		if k.Name == name {
			return k
		}
	}
	t.Fatalf("testdata has no kind %s", name)
	return api.FaultKind{}
}

// size is that of a panel in a terminal of a usual size.
type size struct {
	name          string
	width, height int
}

func sizes() []size {
	return []size{{"80x21", 80, 21}, {"100x27", 100, 27}, {"140x42", 140, 42}, {"200x57", 200, 57}}
}

// golden compares a panel at the usual sizes, and in color once for each theme.
func golden(t *testing.T, name string, p panel.Panel) {
	t.Helper()
	p.SetTheme(theme.Mono())
	for _, s := range sizes() {
		show(t, p, s)
		tuitest.Golden(t, name+"-"+s.name, p.View())
	}
	for _, th := range []*theme.Theme{theme.Dark(), theme.Light(), theme.Mono()} {
		p.SetTheme(th)
		show(t, p, sizes()[1])
		tuitest.Colored(t, name+"-"+th.Name, p.View())
	}
	p.SetTheme(theme.Mono())
}

// show gives a panel its size: a box, the one that it wants.
func show(t *testing.T, p panel.Panel, s size) {
	t.Helper()
	w, h := s.width, s.height
	if b, ok := p.(panel.Popup); ok {
		w, h = b.Size(w-4, h-4)
	}
	p.SetSize(w, h)
	tuitest.Fills(t, p.View(), w, h)
}

// fills tries every size.
func fills(t *testing.T, p panel.Panel) {
	t.Helper()
	for h := 1; h <= 30; h += 1 + h/8 {
		for w := 1; w <= 110; w += 1 + w/10 {
			p.SetSize(w, h)
			tuitest.Fills(t, p.View(), w, h)
		}
	}
}

// broken is a state with leases in every state.
func broken() *fold.State {
	s := tuitest.At(30 * time.Second)
	now := s.Now()
	at := func(d time.Duration) *time.Time { u := now.Add(d); return &u }
	for _, l := range []api.Lease{
		{
			ID: "f2", Fault: "host.maintenance", State: "active", Since: now.Add(-5 * time.Minute), Seq: 3,
			Params:  map[string]string{"evacuate": "true"},
			Targets: []api.LeaseTarget{{Kind: "Host", VCenter: "us", Name: "esx-west-1", Does: "enters maintenance mode", State: "active"}},
		},
		{
			ID: "f3", Fault: "vcenter.latency", State: "failed", Since: now.Add(-4 * time.Minute), Until: at(-time.Minute), Seq: 4,
			Targets: []api.LeaseTarget{
				{Kind: "VCenter", VCenter: "us", Name: "us", Does: "delays calls by 2s", State: "healed"},
				{Kind: "VCenter", VCenter: "eu", Name: "eu", Does: "delays calls by 2s", State: "failed", Error: "gate of \x1b[31meu: connection refused\n"},
			},
		},
		{
			ID: "f4", Fault: "vm.suspend", State: "applying", Since: now, Mode: "50%", Seed: 7,
			Targets: []api.LeaseTarget{{Kind: "VM", VCenter: "us", Name: "worker-east-2", Does: "suspends it", State: "applying"}},
		},
		{
			ID: "f5", Fault: "vm.reset", State: "healed", Since: now.Add(-time.Minute), Ended: at(-time.Minute), Seq: 5,
			Targets: []api.LeaseTarget{{Kind: "VM", VCenter: "eu", Name: "worker-eu-1", Does: "resets it", State: "healed"}},
		},
		{
			ID: "f6", Fault: "vm.hang", State: "healing", Since: now.Add(-time.Minute), Until: at(time.Minute), Seq: 6,
			Targets: []api.LeaseTarget{{Kind: "VM", VCenter: "eu", Name: "worker-eu-1", Does: "hangs it", State: "healing"}},
		},
	} {
		s.Apply(now, api.Update{Lease: &l})
	}
	return s
}
