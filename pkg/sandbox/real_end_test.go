package sandbox

import (
	"net"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/sandbox/api"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/vcenter/scope"
)

// TestRealClosedBeforeReverted knocks while what was written is taken back: a write that came through then would stay.
func TestRealClosedBeforeReverted(t *testing.T) {
	r := far(t)
	r.Scope = scope.Scope{AllowWrites: true, Folders: []string{"/DC0/vm"}}
	dir := instanceDir(t)
	s, end := inDir(t, r, dir)
	before := powersOf(s)
	if _, err := s.act(t.Context(), api.VMRequest{Action: api.PowerOff, VM: s.world.VMs()[0].Name, Confirmed: true}); err != nil {
		t.Fatal(err)
	}
	front, said := s.real.fronts[0], 0
	s.opts.Progress = func(Progress) { // says that it is going to be taken back
		said++
		if conn, err := new(net.Dialer).DialContext(t.Context(), "tcp", front.Addr()); err == nil {
			t.Error("clients still get in")
			_ = conn.Close()
		}
		if conn, err := front.DialConsole(t.Context()); err == nil {
			t.Error("whoever runs the sandbox still gets in")
			_ = conn.Close()
		}
	}
	if err := end(); err != nil || said == 0 {
		t.Fatalf("said %d times that something is taken back, %v", said, err)
	}
	again, _ := inDir(t, r, dir)
	if diff := cmp.Diff(before, powersOf(again)); diff != "" {
		t.Error(diff)
	}
}
