package sandbox

import (
	"log/slog"
	"net"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/sandbox/api"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/sandbox/world"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/vcenter/scope"
)

// TestRealClosedBeforeReverted knocks while what was written is taken back: a write that came through then would stay.
func TestRealClosedBeforeReverted(t *testing.T) {
	r := far(t)
	r.Scope = scope.Scope{AllowWrites: true, Folders: []string{"/DC0/vm"}}
	dir := instanceDir(t)
	s, end := inDir(t, r, dir)
	before := powersOf(s)
	if _, err := s.actions.VM(t.Context(), api.VMRequest{Action: api.PowerOff, VM: s.world.VMs()[0].Name, Confirmed: true}); err != nil {
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

// TestRealKeptAfterAnother keeps its own writes and not those of an earlier sandbox, which cannot be taken back now.
func TestRealKeptAfterAnother(t *testing.T) {
	r := far(t)
	r.Scope = scope.Scope{AllowWrites: true, Folders: []string{"/DC0/vm"}}
	dir := instanceDir(t)
	s, end := inDir(t, r, dir)
	if _, err := s.actions.VM(t.Context(), api.VMRequest{Action: api.PowerOff, VM: s.world.VMs()[0].Name, Confirmed: true}); err != nil {
		t.Fatal(err)
	}
	if err := s.real.journal.Close(); err != nil { // as the end of a process does
		t.Fatal(err)
	}
	s.real.journal = nil
	if err := end(); err != nil {
		t.Fatal(err)
	}
	elsewhere := *r
	elsewhere.Scope.Folders, elsewhere.Keep = []string{"/DC0/vm/elsewhere"}, true
	next := New(Options{
		Name: "test", Topology: s.opts.Topology, Real: &elsewhere, Dir: dir, Logger: slog.New(slog.DiscardHandler), Addresses: []string{"127.0.0.1:0"},
	})
	if err := next.startVCenters(t.Context()); err == nil || !strings.Contains(err.Error(), "take back") {
		t.Errorf("started: %v", err)
	}
	if err := next.stopVCenters(t.Context()); err == nil || !strings.Contains(err.Error(), "not taken back") {
		t.Errorf("stopped: %v", err)
	}
	if left, err := LeftWrites(dir.Path()); err != nil || left == nil || len(left.Pending) != 1 || left.Keep {
		t.Errorf("left %+v, %v", left, err)
	}
}

// TestRealKept leaves what was written as it is, also when the sandbox dies: the next one of the name does not take it back.
func TestRealKept(t *testing.T) {
	r := far(t)
	r.Scope, r.Keep = scope.Scope{AllowWrites: true, Folders: []string{"/DC0/vm"}}, true
	dir := instanceDir(t)
	off := func(s *Sandbox, vm world.VM) {
		t.Helper()
		_, err := s.actions.VM(t.Context(), api.VMRequest{Action: api.PowerOff, VM: vm.Name})
		if err == nil || !strings.Contains(err.Error(), "it stays so") {
			t.Errorf("asked: %v", err)
		}
		if _, err := s.actions.VM(t.Context(), api.VMRequest{Action: api.PowerOff, VM: vm.Name, Confirmed: true}); err != nil {
			t.Fatal(err)
		}
	}
	s, end := inDir(t, r, dir)
	off(s, s.world.VMs()[0])
	if left, err := Unreverted(filepath.Dir(dir.Path())); err != nil || len(left) > 0 {
		t.Errorf("to be taken back: %v, %v", left, err)
	}
	if err := s.real.journal.Close(); err != nil { // as the end of a process does
		t.Fatal(err)
	}
	s.real.journal = nil
	if err := end(); err != nil {
		t.Fatal(err)
	}
	if left, err := LeftWrites(dir.Path()); err != nil || left == nil || !left.Keep {
		t.Errorf("left %+v, %v", left, err)
	}
	taking := *r
	taking.Keep = false
	again, end := inDir(t, &taking, dir)
	requireKind(t, again, "vcenter.kept")
	for i, v := range again.world.VMs() {
		if (v.Power == "off") != (i == 0) {
			t.Errorf("%s is %s", v.Name, v.Power)
		}
	}
	if err := end(); err != nil {
		t.Fatal(err)
	}
	third, end := inDir(t, r, dir)
	off(third, third.world.VMs()[1])
	if err := end(); err != nil {
		t.Fatal(err)
	}
	requireKind(t, third, "vcenter.kept")
	if files, err := filepath.Glob(dir.Path() + ".writes*"); err != nil || len(files) > 0 {
		t.Errorf("files %v, %v", files, err)
	}
}
