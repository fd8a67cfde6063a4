package instance

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestJournal(t *testing.T) {
	d, err := Create(t.TempDir(), "demo")
	if err != nil {
		t.Fatal(err)
	}
	j := d.Journal()
	for _, err := range []error{
		j.Started("etcd", 4_000_001), j.Started("ccm", 4_000_002), j.Exited("etcd", 4_000_001),
		j.Started("node/worker-1", 4_000_003), j.Exited("ccm", 4_000_002), j.Started("again", 4_000_001),
	} {
		if err != nil {
			t.Fatal(err)
		}
	}
	file, err := os.OpenFile(d.Path(journalName), os.O_WRONLY|os.O_APPEND, 0)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := file.WriteString(`{"name":"torn","pi`); err != nil {
		t.Fatal(err)
	}
	if err := file.Close(); err != nil {
		t.Fatal(err)
	}
	if err := j.Started("after", 4_000_004); err != nil {
		t.Fatal(err)
	}
	got, err := readJournal(d.Path(journalName))
	if err != nil {
		t.Fatal(err)
	}
	want := []Process{
		{Name: "again", PID: 4_000_001}, {Name: "node/worker-1", PID: 4_000_003}, {Name: "after", PID: 4_000_004},
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	if err := d.Remove(); err != nil {
		t.Fatal(err)
	}
	if err := j.Started("late", 4_000_005); err == nil {
		t.Error("the journal of a removed directory was written")
	}
	if got, err := readJournal(filepath.Join(t.TempDir(), "missing")); got != nil || err != nil {
		t.Errorf("missing journal: %v, %v", got, err)
	}
}

func TestMentions(t *testing.T) {
	const path = "/state/a"
	for text, want := range map[string]bool{
		"":                             false,
		"/state/a":                     true,
		"prog\x00--dir=/state/a\x00":   true,
		"X=/state/a/etcd":              true,
		"A:/state/a:B":                 true,
		`"/state/a"`:                   true,
		"/state/ab":                    false,
		"/state/a-2":                   false,
		"/state/a.bak":                 false,
		"/backup/state/a":              false,
		"/backup/state/a /state/a":     true,
		"/state/a2 /state/ab /state/a": true,
	} {
		if got := mentions(text, path); got != want {
			t.Errorf("%q: %v", text, got)
		}
	}
}
