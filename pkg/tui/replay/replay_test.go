package replay

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/iotest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/sandbox/api"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/sandbox/api/world"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/tui/fold"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/tui/tuitest"
)

// recording is the story as a file has it.
func recording(t testing.TB, lines []api.Recorded) []byte {
	t.Helper()
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	if err := e.Encode(tuitest.About()); err != nil {
		t.Fatal(err)
	}
	for _, line := range lines {
		if err := e.Encode(line); err != nil {
			t.Fatal(err)
		}
	}
	return b.Bytes()
}

func player(t testing.TB) *Player {
	t.Helper()
	p, err := Read("story.jsonl", bytes.NewReader(recording(t, tuitest.Story())))
	if err != nil {
		t.Fatal(err)
	}
	return p
}

// all is everything that can be seen of a state.
func all(s *fold.State) map[string]any {
	m := map[string]any{
		"now": s.Now(), "run": s.Run(), "calls": s.Calls(), "bursts": s.Bursts(), "findings": s.Findings(), "events": s.World().Events(), "next": s.NextTick(),
	}
	for _, kind := range world.Kinds() {
		rows := s.World().Rows(kind)
		m[string(kind)], m["gone "+string(kind)] = rows, s.Gone(kind)
		for _, row := range rows {
			if c, ok := s.Changed(kind, row.Key); ok {
				m["changed "+row.Key] = c
			}
		}
	}
	return m
}

func TestPlay(t *testing.T) {
	p := player(t)
	if p.Len() != tuitest.Length || p.At() != 0 || p.About().Sandbox != "zones-us-eu" || p.Note() != "" || !p.Clock().Equal(tuitest.Began) {
		t.Errorf("it is %s long, at %s (%s), of %s, noted %q", p.Len(), p.At(), p.Clock(), p.About().Sandbox, p.Note())
	}
	if next, ok := p.Next(); !ok || next != 0 { // no update before the first step
		t.Errorf("next in %s, %t", next, ok)
	}
	first := p.Seek(0)
	steps := 0
	for ended := false; !ended; steps++ {
		var s *fold.State
		if s, ended = p.Step(50 * time.Millisecond); s != first {
			t.Fatal("the state is another one")
		}
	}
	if steps != int(tuitest.Length/(50*time.Millisecond)) || p.At() != p.Len() {
		t.Errorf("ended after %d steps at %s", steps, p.At())
	}
	if diff := cmp.Diff(all(tuitest.At(tuitest.Length)), all(first)); diff != "" {
		t.Errorf("the story goes otherwise (-want +got):\n%s", diff)
	}
	if _, ok := p.Next(); ok {
		t.Error("something is to come")
	}
	if s, ended := p.Step(time.Hour); s != first || !ended || !s.Now().Equal(tuitest.Began.Add(tuitest.Length)) {
		t.Errorf("it goes on after the end: %s", s.Now())
	}
}

// However one comes to a time, it is the same there.
func TestSeek(t *testing.T) {
	p := player(t)
	for _, d := range []time.Duration{30, 75, 12, 90, 0, 46, 47, 20, -5, 200} {
		s := p.Seek(d * time.Second)
		at := min(max(d*time.Second, 0), tuitest.Length)
		if diff := cmp.Diff(all(tuitest.At(at)), all(s)); diff != "" || p.At() != at || s != p.State() {
			t.Errorf("%s (at %s) is not as it was (-want +got):\n%s", at, p.At(), diff)
		}
	}
}

func TestBackwardsIsAnotherState(t *testing.T) {
	p := player(t)
	a := p.Seek(40 * time.Second)
	kinds := []world.Kind{world.Node, world.VM}
	total, some := a.Version(), a.Version(kinds...)
	if b := p.Seek(50 * time.Second); b != a {
		t.Error("forwards it is another state")
	}
	c := p.Seek(10 * time.Second)
	if c == a {
		t.Fatal("backwards it is the same state")
	}
	if c.Version() <= total || c.Version(kinds...) <= some {
		t.Errorf("versions %d and %d after %d and %d", c.Version(), c.Version(kinds...), total, some)
	}
}

func TestNext(t *testing.T) {
	p := player(t)
	p.Seek(16 * time.Second)
	if next, ok := p.Next(); !ok || next != 4*time.Second {
		t.Errorf("next in %s, %t", next, ok)
	}
}

// TestBeginning: the rows at the beginning of a recording have arrived when it begins, at any times of their lines.
func TestBeginning(t *testing.T) {
	late := tuitest.Began.Add(time.Hour)
	node := api.Recorded{Time: late, Update: api.Update{Node: &api.Node{Name: "n", Registered: true}}}
	synced := api.Recorded{Time: late.Add(time.Millisecond), Update: api.Update{Synced: true}}
	after := api.Recorded{Time: late.Add(2 * time.Second), Update: api.Update{Node: &api.Node{Name: "n"}}}
	p, err := Read("r", bytes.NewReader(recording(t, []api.Recorded{node, after, synced}))) // not in order
	if err != nil {
		t.Fatal(err)
	}
	s := p.Seek(0)
	if len(s.World().Rows(world.Node)) != 1 || !s.World().Synced() || p.Len() != 2*time.Second-time.Millisecond {
		t.Errorf("%v, %s long", s.World().Rows(world.Node), p.Len())
	}
	if p, err = Read("r", bytes.NewReader(recording(t, nil))); err != nil || p.Len() != 0 {
		t.Fatalf("nothing recorded: %v", err)
	}
	if s, ended := p.Step(time.Second); s == nil || !ended {
		t.Error("nothing does not end")
	}
}

func TestErrors(t *testing.T) {
	story := string(recording(t, tuitest.Story()))
	lines := strings.SplitAfter(story, "\n")
	lines = lines[:len(lines)-1]
	head := lines[0]
	for _, tc := range []struct {
		name, text string
		err, note  string
	}{
		{"whole", story, "", ""},
		{"of v0.1", strings.Replace(story, "sandbox.vsphere/", "vsphere-sandbox/", 1), "", ""},
		{"no end of the last line", strings.TrimSuffix(story, "\n"), "", ""},
		{"cut off", story[:len(story)-20], "", fmt.Sprintf("r.jsonl: line %d, the last, is cut off, and left out", len(lines))},
		{"cut off after the head", head + `{"time":"2026-`, "", "r.jsonl: line 2, the last, is cut off, and left out"},
		{"head cut off", head[:30], `r.jsonl:1: no recording: its first line has to say "kind": "Recording"`, ""},
		{"empty", "", "r.jsonl:1: it is empty; a recording begins with its kind", ""},
		{"events", `{"seq":1}` + "\n", `r.jsonl:1: no recording: its first line has to say "kind": "Recording"`, ""},
		{"newer", strings.Replace(head, "v1alpha1", "v9", 1), `r.jsonl:1: a recording of version "sandbox.vsphere/v9"; this program reads sandbox.vsphere/v1alpha1`, ""},
		{"broken in the middle", strings.Join(lines[:5], "") + "{\"node\":\n" + strings.Join(lines[5:], ""), "r.jsonl:6: unexpected end of JSON input", ""},
		{"broken in the middle and cut off", strings.Join(lines[:5], "") + "{\"node\":\n" + strings.Join(lines[5:8], "") + "{", "r.jsonl:6: unexpected end of JSON input", ""},
		{"last line broken", head + "nonsense\n", "r.jsonl:2: invalid character 'o' in literal null (expecting 'u')", ""},
	} {
		t.Run(tc.name, func(t *testing.T) {
			p, err := Read("r.jsonl", strings.NewReader(tc.text))
			got := ""
			if err != nil {
				got = err.Error()
			}
			if got != tc.err || err == nil && p.Note() != tc.note {
				t.Fatalf("got %q, %v", got, p)
			}
			if err == nil {
				p.Seek(p.Len())
			}
		})
	}
}

func TestTooLarge(t *testing.T) {
	story := recording(t, tuitest.Story())
	n := int64(len(story))
	if _, err := read("r", bytes.NewReader(story), n); err != nil {
		t.Errorf("just fits: %v", err)
	}
	for _, limit := range []int64{n - 1, n / 2, 10} {
		if _, err := read("r", bytes.NewReader(story), limit); !errors.Is(err, errTooLarge) {
			t.Errorf("%d of %d bytes: %v", limit, n, err)
		}
	}
	path := filepath.Join(t.TempDir(), "r.jsonl")
	if err := os.WriteFile(path, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.Truncate(path, MaxBytes+1); err != nil { // takes no room
		t.Fatal(err)
	}
	if _, err := Open(path); err == nil || err.Error() != path+": too large to be played: it is more than 256 MiB; record a shorter time" {
		t.Errorf("got %v", err)
	}
}

func TestOpen(t *testing.T) {
	path := filepath.Join(t.TempDir(), "r.jsonl")
	if _, err := Open(path); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("got %v", err)
	}
	if err := os.WriteFile(path, recording(t, tuitest.Story()), 0o600); err != nil {
		t.Fatal(err)
	}
	p, err := Open(path)
	if err != nil || p.Len() != tuitest.Length {
		t.Errorf("got %v", err)
	}
	broken := errors.New("disk on fire")
	if _, err := Read("r", iotest.ErrReader(broken)); !errors.Is(err, broken) || err.Error() != "r:1: disk on fire" {
		t.Errorf("got %v", err)
	}
}

// long is a recording of n lines: rows and events of a sandbox of a thousand nodes.
func long(b *testing.B, n int) []byte {
	b.Helper()
	w := tuitest.Big(1000).World()
	at := tuitest.Began
	var lines []api.Recorded
	for _, kind := range world.Kinds() {
		for _, row := range w.Rows(kind) {
			switch v := row.Value.(type) {
			case api.Node:
				lines = append(lines, api.Recorded{Time: at, Update: api.Update{Node: &v}})
			case api.VM:
				lines = append(lines, api.Recorded{Time: at, Update: api.Update{VM: &v}})
			}
		}
	}
	lines = append(lines, api.Recorded{Time: at, Update: api.Update{Synced: true}})
	nodes, vms, events := world.Values[api.Node](w, world.Node), world.Values[api.VM](w, world.VM), w.Events()
	for i := 0; len(lines) < n; i++ {
		at = at.Add(10 * time.Millisecond)
		u := api.Update{}
		switch i % 4 {
		case 0:
			v := vms[i%len(vms)]
			v.Power = []string{"on", "off"}[i/4%2]
			u.VM = &v
		case 1:
			v := nodes[i%len(nodes)]
			v.Ready = []string{"True", "Unknown"}[i/4%2]
			u.Node = &v
		default:
			e := events[i%len(events)]
			e.Seq = uint64(len(lines))
			u.Event = &e
		}
		lines = append(lines, api.Recorded{Time: at, Update: u})
	}
	return recording(b, lines)
}

func BenchmarkRead(b *testing.B) {
	text := long(b, 100_000)
	b.SetBytes(int64(len(text)))
	for b.Loop() {
		if _, err := Read("r", bytes.NewReader(text)); err != nil {
			b.Fatal(err)
		}
	}
}

// BenchmarkSeek goes from the end of a hundred thousand lines back to just before it: all is folded again.
func BenchmarkSeek(b *testing.B) {
	p, err := Read("r", bytes.NewReader(long(b, 100_000)))
	if err != nil {
		b.Fatal(err)
	}
	p.Seek(p.Len())
	for b.Loop() {
		p.Seek(p.Len() - 1)
		p.Seek(p.Len())
	}
}
