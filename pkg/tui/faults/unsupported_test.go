package faults

import (
	"strings"
	"testing"

	tea "charm.land/bubbletea/v2"

	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/sandbox/api"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/tui/fold"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/tui/intent"
)

// TestUnsupported: what the ground does not support is marked: in the menu, where it cannot be chosen, and in its description.
func TestUnsupported(t *testing.T) {
	k := api.FaultKind{Name: "vm.destroy", Theme: "vm", Short: "destroys VMs", Object: "vm", Unsupported: "takes a simulated vCenter"}
	m := NewMenu([]api.FaultKind{k}, api.Subject{}, fold.New(fold.About{}, 0))
	m.SetSize(90, 12)
	if v := m.View(); !strings.Contains(v, "takes a simulated vCenter") || strings.Contains(v, "destroys VMs") {
		t.Errorf("menu:\n%s", v)
	}
	got, _ := m.Handle(tea.KeyPressMsg{Code: tea.KeyEnter})
	if want := (intent.Say{Text: "vm.destroy: takes a simulated vCenter", Bad: true}); got != want {
		t.Errorf("chosen: %#v", got)
	}
	if about := strings.Join(aboutKind(m.theme, 80, &k), "\n"); !strings.Contains(about, "unsupported here: takes a simulated vCenter") {
		t.Errorf("about:\n%s", about)
	}
}
