package artifacts

import (
	"encoding/json"
	"encoding/xml"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/vsphere-sandbox/vsphere-sandbox/internal/secret/mask"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/event"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/sandbox/api"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/scenario/report/golden"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/scenario/report/sample"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/scenario/report/testgrid"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/scenario/result"
)

// write leaves the sample behind.
func write(t *testing.T, dir string) {
	t.Helper()
	d, err := Create(dir, sample.Began(), map[string]string{"vsphere-sandbox": "v0.1.0"}, map[string]string{"suite": "core"})
	if err != nil {
		t.Fatal(err)
	}
	m := &mask.Mask{}
	m.Add("pa\"ss", "abc", "hunter2", "value", "testcase", "message") // the last ones are words of the documents, too
	d.Mask(m)
	fmt.Fprint(d.Log(), "login with hun")
	fmt.Fprint(d.Log(), "ter2\nabc pa\"ss\nlast")
	if err := d.Event(1, api.EventLine{Event: event.Event{Seq: 9, Kind: "x", Message: "is pa\"ss"}, Lost: 2}); err != nil {
		t.Fatal(err)
	}
	log := "one\nAuthorization: Bearer abcdefghijkl\n-----BEGIN RSA PRIVATE KEY-----\nMIIE\nMIIE\n-----END RSA PRIVATE KEY-----\neyJhbGciOiJSUzI1NiJ9.eyJzdWIiOiJhYmMifQ.c2ln end\n"
	if err := d.Copy("artifacts/logs/1-"+FileName("node/worker-1")+".log", strings.NewReader(log)); err != nil {
		t.Fatal(err)
	}
	if err := d.Finish(sample.Suite(), false); err != nil {
		t.Fatal(err)
	}
}

func TestLayout(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "a", "results")
	write(t, dir)
	var files []string
	err := filepath.WalkDir(dir, func(p string, e fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		info, err := e.Info()
		if err != nil {
			return err
		}
		want := fs.FileMode(0o600)
		if e.IsDir() {
			want = 0o700
		} else {
			rel, _ := filepath.Rel(dir, p)
			files = append(files, rel)
		}
		if info.Mode().Perm() != want {
			t.Errorf("%s: %v", p, info.Mode())
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	slices.Sort(files)
	if wrong := errors.Join(testgrid.Check(os.DirFS(dir))...); wrong != nil {
		t.Errorf("TestGrid cannot read it: %v", wrong)
	}
	if d := cmp.Diff([]string{
		"artifacts/calls.json", "artifacts/events.jsonl", "artifacts/junit_core.xml", "artifacts/logs/1-node-worker-1.log", "artifacts/result.json",
		"build-log.txt", "finished.json", "report.html", "started.json",
	}, files); d != "" {
		t.Error(d)
	}
	read := func(name string) string {
		b, err := os.ReadFile(filepath.Join(dir, name))
		if err != nil {
			t.Fatal(err)
		}
		return string(b)
	}
	golden.Equal(t, "started.json", read("started.json"))
	golden.Equal(t, "finished.json", read("finished.json"))
	golden.Equal(t, "calls.json", read("artifacts/calls.json"))
	for name, want := range map[string]string{
		"build-log.txt":                      "login with (masked)\nabc (masked)\nlast",
		"artifacts/logs/1-node-worker-1.log": "one\nAuthorization: (masked)\n(masked)\n(masked) end\n",
		"artifacts/events.jsonl":             `{"sandbox":1,"seq":9,"time":"0001-01-01T00:00:00Z","plane":"","level":"","kind":"x","message":"is (masked)","lost":2}` + "\n",
	} {
		if d := cmp.Diff(want, read(name)); d != "" {
			t.Errorf("%s: %s", name, d)
		}
	}
	if err := xml.Unmarshal([]byte(read("artifacts/junit_core.xml")), new(struct{})); err != nil {
		t.Error(err)
	}
	if err := json.Unmarshal([]byte(read("artifacts/result.json")), new(map[string]any)); err != nil {
		t.Error(err)
	}
}

func TestTakesItsOwnDirectoryAgain(t *testing.T) {
	dir := t.TempDir()
	write(t, dir)
	if err := os.WriteFile(filepath.Join(dir, "artifacts", "old"), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	write(t, dir)
	if _, err := os.Stat(filepath.Join(dir, "artifacts", "old")); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("a file of the first run is left: %v", err)
	}
}

func TestRefusesOthersDirectories(t *testing.T) {
	for name, files := range map[string]map[string]string{
		"a stranger's file":        {"thesis.doc": "x"},
		"another tool's results":   {"started.json": `{"timestamp":1}`, "artifacts/x": "y"},
		"something beside results": {"started.json": `{"metadata":{"maker":"vsphere-sandbox"}}`, "notes.txt": "x"},
		"not JSON":                 {"started.json": "maker vsphere-sandbox"},
	} {
		t.Run(name, func(t *testing.T) {
			dir := t.TempDir()
			for f, text := range files {
				p := filepath.Join(dir, f)
				if err := os.MkdirAll(filepath.Dir(p), 0o755); err != nil {
					t.Fatal(err)
				}
				if err := os.WriteFile(p, []byte(text), 0o644); err != nil {
					t.Fatal(err)
				}
			}
			if _, err := Create(dir, sample.Began(), nil, nil); !errors.Is(err, ErrNotOwned) {
				t.Errorf("err = %v", err)
			}
			for f, text := range files {
				if b, err := os.ReadFile(filepath.Join(dir, f)); err != nil || string(b) != text {
					t.Errorf("%s: %q, %v", f, b, err)
				}
			}
		})
	}
}

func TestStaysInside(t *testing.T) {
	dir, outside := t.TempDir(), t.TempDir()
	d, err := Create(dir, sample.Began(), nil, nil)
	if err != nil {
		t.Fatal(err)
	}
	defer d.Close()
	if err := os.Symlink(outside, filepath.Join(dir, "out")); err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"../x", "out/x", "/x"} {
		if err := d.Write(name, nil); err == nil {
			t.Errorf("wrote %s", name)
		}
	}
	if got := FileName("../../etc/passwd\x00"); strings.ContainsAny(got, "/\x00") || strings.HasPrefix(got, ".") {
		t.Errorf("name %q", got)
	}
}

func TestResults(t *testing.T) {
	for _, tc := range []struct {
		verdict result.Verdict
		aborted bool
		want    string
	}{{result.Passed, false, "SUCCESS"}, {result.Failed, false, "FAILURE"}, {result.Passed, true, "ABORTED"}} {
		dir := t.TempDir()
		d, err := Create(dir, sample.Began(), nil, nil)
		if err != nil {
			t.Fatal(err)
		}
		if err := d.Finish(&result.Suite{Name: "x", Scenarios: []result.Scenario{{Verdict: tc.verdict}}}, tc.aborted); err != nil {
			t.Fatal(err)
		}
		var f finished
		b, err := os.ReadFile(filepath.Join(dir, "finished.json"))
		if err != nil || json.Unmarshal(b, &f) != nil || f.Result != tc.want || f.Passed != (tc.want == "SUCCESS") {
			t.Errorf("%+v: %s, %v", tc, b, err)
		}
		if _, err := d.Log().Write([]byte("late")); !errors.Is(err, fs.ErrClosed) {
			t.Errorf("late: %v", err)
		}
	}
}
