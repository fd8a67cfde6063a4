package instance_test

import (
	"errors"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/vsphere-sandbox/vsphere-sandbox/internal/instance"
)

func TestRootThatIsNoDirectory(t *testing.T) {
	file := filepath.Join(t.TempDir(), "file")
	if err := os.WriteFile(file, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	for _, root := range []string{file, filepath.Join(file, "below")} {
		if _, err := instance.Create(root, "demo"); err == nil || !strings.HasPrefix(err.Error(), "state directory: ") {
			t.Errorf("create below %s: %v", root, err)
		}
	}
}

func TestFullDisk(t *testing.T) {
	root := t.TempDir()
	cmd := exec.CommandContext(t.Context(), os.Args[0])
	cmd.Env = append(os.Environ(), roleEnv+"=full-disk "+root)
	out, err := cmd.CombinedOutput()
	if err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	text := strings.ReplaceAll(string(out), root, "ROOT")
	want := `create: state directory: write ROOT/after/lock: file too large
record: sandbox "before": record: write ROOT/before/.sandbox.json.N: file too large
journal: journal: write ROOT/before/children.journal: file too large
old record: before <nil>
remove: <nil>
`
	if before, rest, ok := strings.Cut(text, "sandbox.json."); ok {
		text = before + "sandbox.json.N" + rest[strings.Index(rest, ":"):]
	}
	if diff := cmp.Diff(want, text); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	requireEmpty(t, root)
}

// A state root that the user set to a directory with other contents.
func TestForeignDirectoriesAreLeftAlone(t *testing.T) {
	root := t.TempDir()
	precious := filepath.Join(root, "documents", "precious")
	link := filepath.Join(root, "link")
	vacant := filepath.Join(root, "vacant")
	if err := os.Mkdir(vacant, 0o700); err != nil {
		t.Fatal(err)
	}
	lock := filepath.Join(root, "locked", "lock")
	for _, file := range []string{precious, lock} {
		if err := os.MkdirAll(filepath.Dir(file), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(file, []byte("precious\n"), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.Symlink(create(t, t.TempDir(), "demo").Path(), link); err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"documents", "locked"} {
		if _, err := instance.Create(root, name); !errors.Is(err, instance.ErrForeign) {
			t.Errorf("create %s: %v", name, err)
		}
		if _, err := instance.Open(root, name); !errors.As(err, new(instance.ErrNotFound)) {
			t.Errorf("open %s: %v", name, err)
		}
		if _, err := instance.Reap(t.Context(), root, name); !errors.As(err, new(instance.ErrNotFound)) {
			t.Errorf("reap %s: %v", name, err)
		}
	}
	if _, err := instance.Create(root, "link"); err == nil {
		t.Error("a symbolic link is taken for an instance directory")
	}
	if entries, err := instance.List(root); err != nil || len(entries) != 0 {
		t.Errorf("list: %v, %v", entries, err)
	}
	if reports, err := instance.ReapAll(t.Context(), root); err != nil || len(reports) != 0 {
		t.Errorf("reap all: %v, %v", reports, err)
	}
	for _, file := range []string{precious, lock} {
		if text, err := os.ReadFile(file); err != nil || string(text) != "precious\n" {
			t.Errorf("%s: %q, %v", file, text, err)
		}
	}
	if _, err := os.Stat(vacant); err != nil {
		t.Error(err)
	}
	if entries, err := os.ReadDir(filepath.Dir(precious)); err != nil || len(entries) != 1 {
		t.Errorf("left in a foreign directory: %v, %v", entries, err)
	}
}

func TestRemoveStaysInside(t *testing.T) {
	root, outside := t.TempDir(), t.TempDir()
	precious := filepath.Join(outside, "precious")
	if err := os.WriteFile(precious, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	d := create(t, root, "demo")
	for _, link := range []string{"nodes", "logs/link"} {
		if err := os.Symlink(outside, d.Path(link)); err != nil {
			t.Fatal(err)
		}
	}
	volume := d.Path("volumes", "read-only")
	if err := os.MkdirAll(filepath.Join(volume, "inner"), 0o700); err != nil {
		t.Fatal(err)
	}
	for _, dir := range []string{filepath.Join(volume, "inner"), volume} {
		if err := os.Chmod(dir, 0o500); err != nil {
			t.Fatal(err)
		}
	}
	if err := d.Remove(); err != nil {
		t.Fatal(err)
	}
	requireEmpty(t, root)
	if _, err := os.Stat(precious); err != nil {
		t.Error(err)
	}
}

func TestOpenAndList(t *testing.T) {
	root := t.TempDir()
	if entries, err := instance.List(filepath.Join(root, "missing")); err != nil || entries != nil {
		t.Errorf("list of a missing root: %v, %v", entries, err)
	}
	_, err := instance.Open(root, "x")
	if err == nil || err.Error() != `sandbox "x" not found; there are no sandboxes` {
		t.Errorf("open: %v", err)
	}
	dead := create(t, root, "dead")
	if err := dead.WriteRecord(instance.Record{Name: "dead", Topology: "single"}); err != nil {
		t.Fatal(err)
	}
	if err := dead.Close(); err != nil {
		t.Fatal(err)
	}
	create(t, root, "young")
	_, err = instance.Open(root, "x")
	if err == nil || err.Error() != `sandbox "x" not found; sandboxes: dead, young` {
		t.Errorf("open: %v", err)
	}
	entries, err := instance.List(root)
	if err != nil {
		t.Fatal(err)
	}
	if len(entries) == 2 && errors.Is(entries[1].Err, fs.ErrNotExist) {
		entries[1].Err = nil
	}
	want := []instance.Entry{
		{Name: "dead", Record: instance.Record{Name: "dead", Topology: "single"}},
		{Name: "young", Running: true, PID: os.Getpid()},
	}
	if diff := cmp.Diff(want, entries); diff != "" {
		t.Errorf("list (-want +got):\n%s", diff)
	}
	if _, err := instance.Reap(t.Context(), root, "dead"); err != nil {
		t.Error(err)
	}
}
