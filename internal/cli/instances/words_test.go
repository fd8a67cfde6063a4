package instances

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/vsphere-sandbox/vsphere-sandbox/internal/cli/command"
	"github.com/vsphere-sandbox/vsphere-sandbox/internal/instance"
)

// What ended a sandbox are the first lines of what the runtime of Go wrote at its end, not the last ones.
func TestWhyCrashed(t *testing.T) {
	const line = "time=2026-09-01T12:00:00Z level=INFO msg=ready\n"
	const stack = `
goroutine 7 gp=0xc0 m=0 [running]:
panic({0x1, 0x2})
	/go/src/runtime/panic.go:792 +0x1
runtime.goPanicIndex(0x1)
	/go/src/runtime/panic.go:115 +0x1
example.com/m/pkg.(*Sandbox).boot(0xc0, {0x1, 0x2})
	/src/boot.go:12 +0x1d
main.main()
	/src/main.go:3 +0x1
created by main.start in goroutine 1
	/src/start.go:9 +0x2

goroutine 9 [select]:
main.other()
	/src/other.go:1 +0x1
`
	frames := []string{"example.com/m/pkg.(*Sandbox).boot (/src/boot.go:12)", "main.main (/src/main.go:3)"}
	const quit = `SIGQUIT: quit
PC=0x47a5e1 m=0 sigcode=0

goroutine 0 gp=0x1 m=0 mp=0x2 [idle]:
runtime.futex(0x1)
	/go/src/runtime/sys_linux_amd64.s:558 +0x21

goroutine 1 gp=0xc0 m=nil [select]:
runtime.gopark(0x1)
	/go/src/runtime/proc.go:1 +0x1
main.main()
	/src/main.go:3 +0x1

rax    0x0
gs     0x0
`
	for _, tc := range []struct {
		name, log string
		want      command.Crash
	}{
		{"nothing", "", command.Crash{Reason: killed}},
		{"lines as ever", line + line, command.Crash{Reason: killed}},
		{"a panic", line + "panic: boom\n" + stack, command.Crash{Reason: "panic: boom", Stack: frames}},
		{"a panic of several lines", "panic: one\ntwo\n[signal SIGSEGV: segmentation violation code=0x1 addr=0x0]\n" + stack, command.Crash{Reason: "panic: one; two; [signal SIGSEGV: segmentation violation code=0x1 addr=0x0]", Stack: frames}},
		{"a fatal error", line + "runtime: out of memory: cannot allocate\nfatal error: out of memory\n" + stack, command.Crash{Reason: "fatal error: out of memory", Stack: frames}},
		{"a signal", line + quit, command.Crash{Reason: "SIGQUIT: quit", Stack: []string{"main.main (/src/main.go:3)"}}},
		{"a panic that was survived", "panic: boom\n" + stack + line, command.Crash{Reason: killed}},
		{"a panic after one that was survived", "panic: boom\n" + stack + line + "panic: again\n" + stack, command.Crash{Reason: "panic: again", Stack: frames}},
		{"control characters", "panic: a\x1b[1mb\u009bc\n", command.Crash{Reason: `panic: a\x1b[1mb\u009bc`}},
		{"a long line", "panic: " + strings.Repeat("ü", 300) + "\n", command.Crash{Reason: "panic: " + strings.Repeat("ü", 193)}},
		{"a long log, and thousands of goroutines", strings.Repeat(line, 100000) + "panic: boom\n" + strings.Repeat(stack, 10000), command.Crash{Reason: "panic: boom", Stack: frames}},
		{"cut short", "panic: boom\n\ngoroutine 7 [running]:\nmain.main(", command.Crash{Reason: "panic: boom"}},
	} {
		t.Run(tc.name, func(t *testing.T) {
			log := filepath.Join(t.TempDir(), "sandbox.log")
			if err := os.WriteFile(log, []byte(tc.log), 0o600); err != nil {
				t.Fatal(err)
			}
			if d := cmp.Diff(&tc.want, whyCrashed(log)); d != "" {
				t.Error(d)
			}
		})
	}
	if got := whyCrashed(filepath.Join(t.TempDir(), "none")); got.Reason != killed {
		t.Errorf("without a log: %+v", got)
	}
}

// What a crashed sandbox left is kept until it is removed on purpose, and announced once.
func TestSettleKeepsTheEvidence(t *testing.T) {
	root := t.TempDir()
	i := Instances{RootFunc: func() (string, error) { return root, nil }}
	dir, err := instance.Create(root, "lab")
	if err != nil {
		t.Fatal(err)
	}
	kept := map[string]string{dir.Log("sandbox"): "panic: boom\n", dir.Path("events.jsonl"): "{}\n", dir.Path("recording.jsonl"): "{}\n"}
	for file, text := range kept {
		if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	if err := dir.WriteRecord(instance.Record{Name: "lab", Topology: "single"}); err != nil {
		t.Fatal(err)
	}
	if err := dir.Close(); err != nil {
		t.Fatal(err)
	}
	want := []string{`sandbox "lab" crashed: panic: boom; 0 processes ended; its logs, events and recording are kept in ` + dir.Path() + ` until "vsphere-sandbox down --name lab"`}
	for range 2 {
		said, err := i.ReapProcesses(t.Context())
		if d := cmp.Diff(want, said); err != nil || d != "" {
			t.Errorf("%v, %s", err, d)
		}
		want = nil
		all, err := i.List(t.Context())
		if err != nil || len(all) != 1 || all[0].State() != command.Crashed || all[0].Crash.Reason != "panic: boom" || all[0].Topology != "single" {
			t.Fatalf("listed %+v, %v", all, err)
		}
		for file, text := range kept {
			if got, err := os.ReadFile(file); err != nil || string(got) != text {
				t.Errorf("%s: %q, %v", file, got, err)
			}
		}
	}
	if said, err := i.Reap(t.Context()); err != nil || len(said) != 1 {
		t.Errorf("%q, %v", said, err)
	}
	if left, err := os.ReadDir(root); err != nil || len(left) != 0 {
		t.Errorf("left %v, %v", left, err)
	}
}

// One that was asked to keep its files has not crashed, and one that could not remove all goes when that can be.
func TestEndedInOrder(t *testing.T) {
	root := t.TempDir()
	i := Instances{RootFunc: func() (string, error) { return root, nil }}
	for _, r := range []instance.Record{{Name: "kept", Retained: true}, {Name: "rest", Left: true}} {
		dir, err := instance.Create(root, r.Name)
		if err != nil {
			t.Fatal(err)
		}
		if err := dir.WriteRecord(r); err != nil {
			t.Fatal(err)
		}
		if err := dir.Close(); err != nil {
			t.Fatal(err)
		}
	}
	states := func() (all []string) {
		list, err := i.List(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		for _, s := range list {
			all = append(all, s.Name+" "+s.State())
			if s.Crash != nil {
				t.Errorf("%s: %+v", s.Name, s.Crash)
			}
		}
		return all
	}
	if d := cmp.Diff([]string{"kept retained", "rest left-behind"}, states()); d != "" {
		t.Error(d)
	}
	if said, err := i.ReapProcesses(t.Context()); err != nil || len(said) != 1 || !strings.Contains(said[0], `"rest" had ended`) {
		t.Errorf("%q, %v", said, err)
	}
	if d := cmp.Diff([]string{"kept retained"}, states()); d != "" {
		t.Error(d)
	}
}
