package instances

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/vmware/govmomi/vim25/types"

	_ "github.com/vsphere-sandbox/vsphere-sandbox/internal/cli/clitest" // -update
	"github.com/vsphere-sandbox/vsphere-sandbox/internal/cli/command"
	"github.com/vsphere-sandbox/vsphere-sandbox/internal/instance"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/vcenter/journal"
)

var _ command.Sandboxes = Instances{}

func TestInstances(t *testing.T) {
	root := filepath.Join(t.TempDir(), "state")
	i := Instances{RootFunc: func() (string, error) { return root, nil }}
	if list, err := i.List(t.Context()); err != nil || len(list) != 0 {
		t.Fatalf("of a root that does not exist: %v, %v", list, err)
	}
	if err := os.Mkdir(root, 0o700); err != nil {
		t.Fatal(err)
	}
	start := time.Date(2026, 9, 1, 12, 0, 0, 0, time.UTC)
	var dirs []*instance.Dir
	for _, name := range []string{"alive", "dead"} {
		dir, err := instance.Create(root, name)
		if err != nil {
			t.Fatal(err)
		}
		if err := dir.WriteRecord(instance.Record{Name: name, PID: os.Getpid(), StartedAt: start, Topology: "single"}); err != nil {
			t.Fatal(err)
		}
		for _, component := range []string{"sandbox", "node/worker-1"} {
			if err := os.MkdirAll(filepath.Dir(dir.Log(component)), 0o700); err != nil {
				t.Fatal(err)
			}
			if err := os.WriteFile(dir.Log(component), nil, 0o600); err != nil {
				t.Fatal(err)
			}
		}
		dirs = append(dirs, dir)
	}
	if err := dirs[1].Close(); err != nil {
		t.Fatal(err)
	}
	list, err := i.List(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	var want []command.Sandbox
	for _, d := range dirs {
		s := command.Sandbox{
			Name: d.Name(), Dir: d.Path(), Socket: d.SocketPath(), Running: d == dirs[0], PID: os.Getpid(), StartedAt: start, Topology: "single",
		}
		if !s.Running {
			s.Crash = &command.Crash{Reason: killed}
		}
		want = append(want, s)
	}
	if d := cmp.Diff(want, list); d != "" {
		t.Error(d)
	}
	logs, err := i.Logs("dead")
	if err != nil {
		t.Fatal(err)
	}
	if d := cmp.Diff(map[string]string{"sandbox": dirs[1].Log("sandbox"), "node/worker-1": dirs[1].Log("node/worker-1")}, logs); d != "" {
		t.Error(d)
	}
	if _, err := i.Logs("none"); !errors.As(err, new(instance.ErrNotFound)) {
		t.Errorf("err = %v", err)
	}
	reaped, err := i.Reap(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if d := cmp.Diff([]string{"dead (0 processes ended)"}, reaped); d != "" {
		t.Error(d)
	}
	if err := dirs[0].Remove(); err != nil {
		t.Error(err)
	}
}

func TestNoRoot(t *testing.T) {
	trouble := errors.New("no home")
	i := Instances{RootFunc: func() (string, error) { return "", trouble }}
	_, list := i.List(t.Context())
	_, logs := i.Logs("x")
	_, reap := i.Reap(t.Context())
	for _, err := range []error{list, logs, reap} {
		if !errors.Is(err, trouble) {
			t.Errorf("err = %v", err)
		}
	}
}

// A sandbox that has written to real VMs is cleaned up like any other, and it is said what is left.
func TestReapOfAWriter(t *testing.T) {
	root := t.TempDir()
	dir, err := instance.Create(root, "lab")
	if err != nil {
		t.Fatal(err)
	}
	if err := errors.Join(dir.WriteRecord(instance.Record{Name: "lab"}), dir.Close()); err != nil {
		t.Fatal(err)
	}
	j, err := journal.Open(filepath.Join(root, "lab.writes.jsonl"))
	if err != nil {
		t.Fatal(err)
	}
	e := journal.Entry{
		VCenter: "vc", Ref: types.ManagedObjectReference{Type: "VirtualMachine", Value: "vm-1"}, VM: "/dc/vm/vm-1",
		Do: journal.Action{Kind: "reset"}, Undo: journal.Action{Kind: "nothing"},
	}
	if err := errors.Join(j.Write(t.Context(), e, func(context.Context) error { return nil }), j.Close()); err != nil {
		t.Fatal(err)
	}
	said, err := Instances{RootFunc: func() (string, error) { return root, nil }}.Reap(t.Context())
	want := []string{"lab (0 processes ended); 1 writes to real VMs are not taken back: vsphere-sandbox down --name lab does so"}
	if diff := cmp.Diff(want, said); err != nil || diff != "" {
		t.Errorf("%v, %s", err, diff)
	}
}
