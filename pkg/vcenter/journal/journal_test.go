package journal_test

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/vmware/govmomi/vim25/types"

	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/vcenter/journal"
)

func open(t *testing.T, name string) *journal.Journal {
	t.Helper()
	j, err := journal.Open(name)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = j.Close() }) // some are closed before
	return j
}

// set is a write that sets a VM to a value, and its way back.
func set(vm, from, to string) journal.Entry {
	return journal.Entry{
		VCenter: "vc", Ref: types.ManagedObjectReference{Type: "VirtualMachine", Value: vm}, VM: "/dc/vm/" + vm,
		Do: journal.Action{Kind: "set", With: map[string]string{"to": to}}, Undo: journal.Action{Kind: "set", With: map[string]string{"to": from}},
	}
}

// state is the VMs' values.
type state map[string]string

func (s state) do(vm, to string) func(context.Context) error {
	return func(context.Context) error { s[vm] = to; return nil }
}

func (s state) undo(_ context.Context, e journal.Entry) error {
	s[e.Ref.Value] = e.Undo.With["to"]
	return nil
}

// story makes three writes to two VMs.
func story(t *testing.T, j *journal.Journal, s state) {
	t.Helper()
	for _, step := range [][3]string{{"a", "0", "1"}, {"b", "0", "1"}, {"a", "1", "2"}} {
		if err := j.Write(t.Context(), set(step[0], step[1], step[2]), s.do(step[0], step[2])); err != nil {
			t.Fatal(err)
		}
	}
}

func TestRevert(t *testing.T) {
	name := filepath.Join(t.TempDir(), "j")
	s := state{"a": "0", "b": "0"}
	j := open(t, name)
	story(t, j, s)
	var order []string
	err := j.Revert(t.Context(), func(ctx context.Context, e journal.Entry) error {
		order = append(order, fmt.Sprint(e.Seq))
		return s.undo(ctx, e)
	})
	if err != nil || strings.Join(order, "") != "321" || cmp.Diff(state{"a": "0", "b": "0"}, s) != "" || len(j.Pending()) != 0 {
		t.Errorf("order %v, state %v, pending %v, %v", order, s, j.Pending(), err)
	}
	if info, err := os.Stat(name); err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("%v, %v", info, err)
	}
	if _, err := journal.Open(name); err == nil || !strings.Contains(err.Error(), "another process") {
		t.Errorf("opened twice: %v", err)
	}
}

// TestRemove has another process open the file before it is removed, and lock it afterwards.
func TestRemove(t *testing.T) {
	name := filepath.Join(t.TempDir(), "j")
	for range 100 {
		j := open(t, name)
		opened := make(chan *journal.Journal)
		go func() {
			for {
				next, err := journal.Open(name)
				if err == nil {
					opened <- next
					return
				}
				if !errors.Is(err, journal.ErrInUse) {
					t.Error(err)
					close(opened)
					return
				}
			}
		}()
		if err := j.Remove(); err != nil {
			t.Fatal(err)
		}
		next := <-opened
		if next == nil {
			return
		}
		if err := next.Write(t.Context(), set("a", "0", "1"), state{}.do("a", "1")); err != nil {
			t.Error(err)
		}
		if pending, err := journal.Read(name); err != nil || len(pending) != 1 {
			t.Fatalf("what was written is not there: %v, %v", pending, err)
		}
		if err := next.Remove(); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := journal.Read(name); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("read what is gone: %v", err)
	}
}

// TestUndoIsOnDiskFirst looks at the file from within the write.
func TestUndoIsOnDiskFirst(t *testing.T) {
	name := filepath.Join(t.TempDir(), "j")
	j := open(t, name)
	broke := errors.New("the answer got lost")
	err := j.Write(t.Context(), set("a", "0", "1"), func(context.Context) error {
		if data, err := os.ReadFile(name); err != nil || !strings.Contains(string(data), `"undo":{"kind":"set","with":{"to":"0"}}`) {
			t.Errorf("%s, %v", data, err)
		}
		return broke
	})
	if !errors.Is(err, broke) || len(j.Pending()) != 1 {
		t.Errorf("%v, pending %v: what may have been done is to be taken back", err, j.Pending())
	}
	e := set("a", "0", "1")
	e.Undo = journal.Action{}
	if err := j.Write(t.Context(), e, func(context.Context) error { t.Error("done"); return nil }); err == nil {
		t.Error("wrote what cannot be taken back")
	}
}

// TestCrash cuts the file of a whole story, revert included, after every byte, and reverts what is left.
func TestCrash(t *testing.T) {
	name := filepath.Join(t.TempDir(), "j")
	s := state{"a": "0", "b": "0"}
	j := open(t, name)
	story(t, j, s)
	if err := j.Revert(t.Context(), s.undo); err != nil {
		t.Fatal(err)
	}
	whole, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	for cut := range len(whole) + 1 {
		part := filepath.Join(t.TempDir(), "part")
		if err := os.WriteFile(part, whole[:cut], 0o600); err != nil {
			t.Fatal(err)
		}
		// The vCenter is as of the last whole line, or one step ahead of it; an undo bears both.
		now := state{"a": "0", "b": "0"}
		lines := strings.SplitAfter(string(whole[:cut]), "\n")
		for _, l := range lines[:len(lines)-1] {
			for _, step := range []struct{ line, vm, to string }{
				{`"seq":1`, "a", "1"},
				{`"seq":2`, "b", "1"},
				{`"seq":3`, "a", "2"},
				{`"reverted":3`, "a", "1"},
				{`"reverted":2`, "b", "0"},
				{`"reverted":1`, "a", "0"},
			} {
				if strings.Contains(l, step.line) {
					now[step.vm] = step.to
				}
			}
		}
		left := open(t, part)
		if err := left.Revert(t.Context(), now.undo); err != nil {
			t.Fatal(err)
		}
		if cmp.Diff(state{"a": "0", "b": "0"}, now) != "" {
			t.Fatalf("cut after %d bytes: %v", cut, now)
		}
		if err := left.Close(); err != nil {
			t.Fatal(err)
		}
		if again := open(t, part); len(again.Pending()) != 0 {
			t.Fatalf("cut after %d bytes: %v is pending after the revert", cut, again.Pending())
		}
	}
}

// TestRevertWhereOneFails leaves the older writes to that VM alone until it works.
func TestRevertWhereOneFails(t *testing.T) {
	j := open(t, filepath.Join(t.TempDir(), "j"))
	s := state{"a": "0", "b": "0"}
	story(t, j, s)
	err := j.Revert(t.Context(), func(ctx context.Context, e journal.Entry) error {
		if e.Ref.Value == "a" {
			return errors.New("host is gone")
		}
		return s.undo(ctx, e)
	})
	if err == nil || strings.Count(err.Error(), "host is gone") != 1 || s["a"] != "2" || s["b"] != "0" || len(j.Pending()) != 2 {
		t.Errorf("%v, %v, pending %v", s, err, j.Pending())
	}
	ctx, cancel := context.WithCancel(t.Context())
	err = j.Revert(ctx, func(ctx context.Context, e journal.Entry) error {
		cancel() // Ctrl-C in the middle
		return s.undo(ctx, e)
	})
	if !errors.Is(err, context.Canceled) || len(j.Pending()) != 1 {
		t.Errorf("%v, pending %v", err, j.Pending())
	}
	if err := j.Revert(t.Context(), s.undo); err != nil || s["a"] != "0" {
		t.Errorf("%v, %v", s, err)
	}
}

func TestOpenRefuses(t *testing.T) {
	for _, tc := range []struct {
		text string
		mode os.FileMode
		want string
	}{
		{"nonsense\n", 0o600, "j:1: "},
		{"{}\n", 0o600, "j:1: is no line of a journal"},
		{"", 0o644, "may be read or written by others"},
	} {
		name := filepath.Join(t.TempDir(), "j")
		if err := os.WriteFile(name, []byte(tc.text), tc.mode); err != nil {
			t.Fatal(err)
		}
		if _, err := journal.Open(name); err == nil || !strings.Contains(err.Error(), tc.want) {
			t.Errorf("%q: %v", tc.text, err)
		}
	}
}
