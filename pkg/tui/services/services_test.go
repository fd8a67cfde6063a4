package services_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/charmbracelet/x/ansi"

	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/sandbox/api"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/tui/fold"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/tui/intent"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/tui/panel"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/tui/services"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/tui/theme"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/tui/tuitest"
)

var _ interface {
	panel.Panel
	panel.Filterer
	panel.Selector
	panel.Chooser
	panel.Clicker
} = (*services.Screen)(nil)

// state has Services in every state.
func state() *fold.State {
	s := tuitest.At(16 * time.Second)
	for _, v := range []api.Service{
		{Name: "default/web", Addresses: []string{"127.1.0.101"}, Ports: []string{"80/TCP", "443/TCP"}, NSX: "REALIZED"},
		{Name: "default/late", Ports: []string{"8080/TCP"}, Class: "public"},
		{Name: "shop/broken", Addresses: []string{"127.1.0.102"}, Ports: []string{"80/TCP"}, NSX: "ERROR", NSXError: "NSX cannot realize LBVirtualServer x: the gateway has no edge cluster"},
		{Name: "shop/old", Addresses: []string{"127.1.0.103"}, Ports: []string{"53/UDP"}, NSX: "REALIZED", Deleting: true},
	} {
		s.Apply(s.Now(), api.Update{Service: &v})
	}
	return s
}

func screen(width, height int) *services.Screen {
	v := services.New()
	v.SetTheme(theme.Mono())
	v.SetSize(width, height)
	v.SetState(state())
	return v
}

func TestFrames(t *testing.T) {
	for _, size := range [][2]int{{80, 21}, {100, 27}, {140, 42}, {200, 57}} {
		name := fmt.Sprintf("%dx%d", size[0], size[1])
		t.Run(name, func(t *testing.T) {
			v := screen(size[0], size[1])
			tuitest.Fills(t, v.View(), size[0], size[1])
			tuitest.Golden(t, name, v.View())
		})
	}
}

// Enter asks what explain says of the Service with the cursor; a filter hides the others, and takes the cursor along.
func TestEnter(t *testing.T) {
	v := screen(100, 27)
	if !v.Choose(api.Subject{Kind: "service", Name: "shop/broken"}) {
		t.Fatal("shop/broken cannot be chosen")
	}
	enter := tuitest.Key("enter")
	got, handled := v.Handle(enter)
	if want := (intent.Why{Subject: api.Subject{Kind: "service", Name: "shop/broken"}}); !handled || got != want {
		t.Errorf("enter: %v, want %v", got, want)
	}
	v.SetFilter("no edge")
	if view := ansi.Strip(v.View()); !strings.Contains(view, "1 of 4") || strings.Contains(view, "default/web") {
		t.Errorf("filtered:\n%s", view)
	}
	v.SetFilter("nothing like it")
	if _, handled := v.Handle(enter); handled || !strings.Contains(ansi.Strip(v.View()), "No Service matches") {
		t.Error("without a row, enter is handled")
	}
}

// supervised has Services in a guest cluster: with an address, without one as the pool is empty, without endpoints, and not forwarded yet.
func supervised() *fold.State {
	s := state()
	for _, v := range []api.VirtualMachineService{
		{Namespace: "guests", Name: "tkc-web", Service: "default/web", Ingress: []string{"127.1.0.101"}, Endpoints: []string{"worker-1 (10.0.0.1)", "worker-2 (10.0.0.2)"}},
		{Namespace: "guests", Name: "tkc-late", Service: "default/late", Pending: "no address is free"},
		{Namespace: "guests", Name: "tkc-old", Service: "shop/old", Ingress: []string{"127.1.0.103"}},
		{Namespace: "guests", Name: "tkc-left", Service: "shop/left", Ingress: []string{"127.1.0.104"}},
	} {
		s.Apply(s.Now(), api.Update{VirtualMachineService: &v})
	}
	return s
}

// In a guest cluster a Service has its VirtualMachineService beside it, and one that is left behind is counted.
func TestVirtualMachineServices(t *testing.T) {
	for _, size := range [][2]int{{80, 21}, {140, 42}} {
		name := fmt.Sprintf("supervisor-%dx%d", size[0], size[1])
		t.Run(name, func(t *testing.T) {
			v := screen(size[0], size[1])
			v.SetState(supervised())
			tuitest.Fills(t, v.View(), size[0], size[1])
			tuitest.Golden(t, name, v.View())
		})
	}
	v := screen(200, 42)
	v.SetState(supervised())
	v.SetFilter("no address is free")
	if view := ansi.Strip(v.View()); !strings.Contains(view, "1 of 4") || !strings.Contains(view, "guests/tkc-late: no address is free") {
		t.Errorf("filtered:\n%s", view)
	}
}
