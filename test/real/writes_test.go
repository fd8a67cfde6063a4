package real

import (
	"strings"
	"testing"
	"time"
)

// paths are those of a VM of the folder of nodes, and of one of the other folder.
func (s *standIn) paths() (inside, outside string) {
	s.t.Helper()
	if s.kind == "stock" {
		return folder + "/DC0_C0_RP0_VM0", other + "/DC0_C1_RP0_VM1"
	}
	return folder + "/far-1", other + "/bare-1"
}

// name is that of the VM at a path.
func name(path string) string { return path[strings.LastIndexByte(path, '/')+1:] }

// Nothing is written unless that was allowed, neither by a command nor by a client of the sandbox's.
func TestReadOnly(t *testing.T) {
	everywhere(t, func(t *testing.T, s *standIn) {
		h := newHome(t)
		box := h.up("closed", "--vcenter-config", s.config(h), "--folder", "k8s")
		inside, _ := s.paths()
		box.run("vm", "power-off", name(inside), "--yes").Wants(t, 1, "error: ", "--allow-writes")
		if r := box.run("govc", "vm.power", "-off", inside); r.Code == 0 {
			t.Errorf("a client of the sandbox wrote:\n%s", r.Both())
		}
		if r := box.run("govc", "vm.change", "-vm", inside, "-e", "a=b"); r.Code == 0 {
			t.Errorf("a client of the sandbox wrote:\n%s", r.Both())
		}
		box.run("govc", "find", "/", "-type", "m").Wants(t, 0, inside)
		if got := s.power(inside); got != "poweredOn" {
			t.Errorf("%s is %s", inside, got)
		}
		h.Must("--name", "closed", "down")
		h.nothingLeft()
	})
}

// What is allowed is done where it is allowed, once it is confirmed, and taken back when the sandbox goes.
func TestWrites(t *testing.T) {
	everywhere(t, func(t *testing.T, s *standIn) {
		h := newHome(t)
		box := h.up("open", "--vcenter-config", s.config(h), "--nodes", "*", "--allow-writes", "--write-folder", folder)
		inside, outside := s.paths()
		host := s.hostname(inside)                                    // a guest that is off reports none
		box.run("vm", "power-off", name(inside)).Wants(t, 2, "--yes") // without a terminal it cannot be confirmed
		if got := s.power(inside); got != "poweredOn" {
			t.Errorf("unconfirmed: %s is %s", inside, got)
		}
		box.run("vm", "power-off", name(outside), "--yes").Wants(t, 1, "error: ", "--write-folder")
		if r := box.run("govc", "vm.power", "-off", outside); r.Code == 0 {
			t.Errorf("a client of the sandbox wrote outside the scope:\n%s", r.Both())
		}
		if got := s.power(outside); got != "poweredOn" {
			t.Errorf("%s is %s", outside, got)
		}
		box.run("vm", "power-off", name(inside), "--yes").Wants(t, 0)
		if got := s.power(inside); got != "poweredOff" {
			t.Errorf("%s is %s", inside, got)
		}
		box.Await(host+" is said to be shut down", time.Minute, func() bool { return tainted(box.Node(host)) })
		h.Must("--name", "open", "down")
		if got := s.power(inside); got != "poweredOn" {
			t.Errorf("after down %s is %s", inside, got)
		}
		h.nothingLeft()
	})
}

// hostname is that of the guest, which is the node's name.
func (s *standIn) hostname(path string) string {
	s.t.Helper()
	for host, m := range s.machines() {
		if m.Name == name(path) {
			return host
		}
	}
	s.t.Fatalf("no VM %s", path)
	return ""
}

// A scope may be a tag: it is the VM's own that counts.
func TestWritesByTag(t *testing.T) {
	everywhere(t, func(t *testing.T, s *standIn) {
		h := newHome(t)
		inside, outside := s.paths()
		if s.kind == "stock" {
			s.govc("tags.category.create", "team")
			s.govc("tags.create", "-c", "team", "blue")
		}
		s.govc("tags.attach", "-c", "team", "blue", inside)
		box := h.up("tagged", "--vcenter-config", s.config(h), "--nodes", "*", "--allow-writes", "--write-tag", "team:blue")
		box.run("vm", "power-off", name(outside), "--yes").Wants(t, 1, "error: ")
		box.run("vm", "power-off", name(inside), "--yes").Wants(t, 0)
		if in, out := s.power(inside), s.power(outside); in != "poweredOff" || out != "poweredOn" {
			t.Errorf("%s is %s, %s is %s", inside, in, outside, out)
		}
		h.Must("--name", "tagged", "down")
		if got := s.power(inside); got != "poweredOn" {
			t.Errorf("after down %s is %s", inside, got)
		}
		h.nothingLeft()
	})
}

// With --keep-writes changes are kept, and known until they are reverted.
func TestKeepWrites(t *testing.T) {
	everywhere(t, func(t *testing.T, s *standIn) {
		h := newHome(t)
		inside, _ := s.paths()
		box := h.up("kept", "--vcenter-config", s.config(h), "--folder", "k8s", "--allow-writes", "--write-folder", folder, "--keep-writes")
		box.run("vm", "power-off", name(inside), "--yes").Wants(t, 0)
		h.Must("--name", "kept", "down")
		if got := s.power(inside); got != "poweredOff" {
			t.Errorf("after down %s is %s", inside, got)
		}
		h.secretFree(s)
		h.Must("--name", "kept", "down")
		if got := s.power(inside); got != "poweredOff" {
			t.Errorf("after another down %s is %s", inside, got)
		}
		h.nothingLeft()
	})
}

// The vCenter decides: a user who may only read changes nothing, with any flags.
func TestReaderWrites(t *testing.T) {
	t.Parallel()
	s, h := permitted(t), newHome(t)
	inside, _ := s.paths()
	box := h.up("reader", "--vcenter-config", s.as(s.reader).config(h), "--folder", "k8s", "--allow-writes", "--write-folder", folder)
	box.run("vm", "power-off", name(inside), "--yes").Wants(t, 1, "error: ", "ermission")
	if got := s.power(inside); got != "poweredOn" {
		t.Errorf("%s is %s", inside, got)
	}
	h.Must("--name", "reader", "down")
	h.nothingLeft()
}
