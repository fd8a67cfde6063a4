package leftovers

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/vmware/govmomi/vim25/types"

	"github.com/vsphere-sandbox/vsphere-sandbox/internal/cli/report"
	"github.com/vsphere-sandbox/vsphere-sandbox/internal/instance"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/vcenter/journal"
)

// died leaves the directory of a sandbox named lab whose process is gone, with a note that says which container runtime it
// has used: a script, which gets the arguments of docker.
func died(t *testing.T, script string) (root, dir string) {
	t.Helper()
	runtime := filepath.Join(t.TempDir(), "docker")
	if err := os.WriteFile(runtime, []byte("#!/bin/sh\n"+script), 0o755); err != nil {
		t.Fatal(err)
	}
	root = t.TempDir()
	d, err := instance.Create(root, "lab")
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(d.Path("kind.json"), []byte(fmt.Sprintf("{\"runtime\": %q}\n", runtime)), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := d.Close(); err != nil { // lets go of the lock, and leaves the directory
		t.Fatal(err)
	}
	return root, d.Path()
}

// sweep returns what was said.
func sweep(t *testing.T, root string) (string, error) {
	t.Helper()
	var said []string
	err := Sweep(t.Context(), root, "lab", func(text string) { said = append(said, text) })
	return strings.Join(said, "; "), err
}

func TestNothingIsLeft(t *testing.T) {
	if said, err := sweep(t, t.TempDir()); err != nil || said != "" {
		t.Errorf("of no sandbox: %q, %v", said, err)
	}
	root, _ := died(t, "exit 0") // there are no containers, and no network
	if said, err := sweep(t, root); err != nil || said != "" {
		t.Errorf("%q, %v", said, err)
	}
}

// One that runs is left alone: the runtime is not even asked.
func TestRuns(t *testing.T) {
	root, dir := died(t, "exit 9")
	d, err := instance.Create(root, "lab")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = d.Remove() })
	if err := os.WriteFile(filepath.Join(dir, "kind.json"), []byte("{broken"), 0o600); err != nil {
		t.Fatal(err)
	}
	if said, err := sweep(t, root); err != nil || said != "" {
		t.Errorf("%q, %v", said, err)
	}
}

// What cannot be taken back is an error, and the directory stays, which says that there is something.
func TestLeft(t *testing.T) {
	for name, tc := range map[string]struct{ script, note, words string }{
		"runtime does not answer": {script: "echo 'Cannot connect to the Docker daemon' >&2; exit 1", words: `sandbox "lab": its containers are left`},
		"no note":                 {script: "exit 0", note: "{broken", words: "kind.json"},
	} {
		t.Run(name, func(t *testing.T) {
			root, dir := died(t, tc.script)
			if tc.note != "" {
				if err := os.WriteFile(filepath.Join(dir, "kind.json"), []byte(tc.note), 0o600); err != nil {
					t.Fatal(err)
				}
			}
			if _, err := sweep(t, root); err == nil || !strings.Contains(err.Error(), tc.words) {
				t.Errorf("%v, want %q", err, tc.words)
			}
			if _, err := os.Stat(dir); err != nil {
				t.Error(err)
			}
		})
	}
}

func TestNoWrites(t *testing.T) {
	err := Writes(t.Context(), filepath.Join(t.TempDir(), "lab"), os.Getenv, func(text string) { t.Errorf("said %q", text) })
	if err != nil {
		t.Error(err)
	}
}

// Unreverted writes are listed for dead sandboxes by name, and not for one that runs. Writes that the user kept are never
// reverted.
func TestUnreverted(t *testing.T) {
	root := t.TempDir()
	journalOf := func(name, settings string) {
		t.Helper()
		j, err := journal.Open(filepath.Join(root, name+".writes.jsonl"))
		if err != nil {
			t.Fatal(err)
		}
		e := journal.Entry{
			VCenter: "vc", Ref: types.ManagedObjectReference{Type: "VirtualMachine", Value: "vm-1"}, VM: "/dc/vm/vm-1",
			Do: journal.Action{Kind: "reset"}, Undo: journal.Action{Kind: "nothing"},
		}
		err = j.Write(t.Context(), e, func(context.Context) error { return nil })
		if err := errors.Join(err, j.Close(), os.WriteFile(filepath.Join(root, name+".writes.json"), []byte(settings), 0o600)); err != nil {
			t.Fatal(err)
		}
	}
	journalOf("gone", "{}")
	journalOf("kept", `{"keep": true}`)
	journalOf("up", "{}")
	d, err := instance.Create(root, "up")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = d.Remove() })
	left, err := Unreverted(root)
	if diff := cmp.Diff(map[string]int{"gone": 1}, left); err != nil || diff != "" {
		t.Errorf("%v, %s", err, diff)
	}
	var said []string
	if err := Writes(t.Context(), filepath.Join(root, "kept"), os.Getenv, func(text string) { said = append(said, text) }); err != nil {
		t.Error(err)
	}
	files, err := filepath.Glob(filepath.Join(root, "kept*"))
	if err != nil || len(files) > 0 || len(said) != 1 || !strings.Contains(said[0], "1 writes to real VMs are kept") {
		t.Errorf("%v, %v, said %q", files, err, said)
	}
	if none, err := Unreverted(filepath.Join(root, "nowhere")); err != nil || len(none) > 0 {
		t.Errorf("%v, %v", none, err)
	}
}

// What is not taken back is said, and not only why.
func TestUndone(t *testing.T) {
	for _, tc := range []struct {
		why  error
		want report.Record
	}{
		{&report.Error{Code: "vcenter-unreachable", Message: "vcenter \"a\" does not answer", Try: "look", Exit: report.Prerequisite}, report.Record{
			Code: "vcenter-unreachable", Message: `sandbox "lab": 2 writes to real VMs are not taken back`, Why: "vcenter \"a\" does not answer",
			Try: "look\nvsphere-sandbox down --name lab   # which tries again", Exit: report.Prerequisite,
		}},
		{errors.New("boom"), report.Record{
			Code: "failed", Message: `sandbox "lab": 2 writes to real VMs are not taken back`, Why: "boom",
			Try: "vsphere-sandbox down --name lab   # which tries again", Exit: report.Failure,
		}},
		{context.Canceled, report.Record{
			Code: "interrupted", Message: `sandbox "lab": 2 writes to real VMs are not taken back`, Why: "context canceled",
			Try: "vsphere-sandbox down --name lab   # which tries again", Exit: report.Interrupted,
		}},
	} {
		if d := cmp.Diff(tc.want, report.Of(undone("/state/lab", 2, tc.why))); d != "" {
			t.Error(d)
		}
	}
}
