package sandbox

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/vsphere-sandbox/vsphere-sandbox/internal/build"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/event"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/sandbox/api"
)

// What is replayed ends as the table is, however often the file was full.
func TestRecordingReplays(t *testing.T) {
	for _, tc := range []struct {
		changes  int
		size     int64
		segments int
	}{{0, 1 << 20, 1}, {100, 1 << 20, 1}, {3000, 300 << 10, 2}, {10_000, 100 << 10, 2}} {
		t.Run(fmt.Sprint(tc.changes), func(t *testing.T) {
			s := newRecordings(t, tc.size, 20)
			for i := range tc.changes {
				if s.change(i); i%10 == 0 {
					if err := s.record(); err != nil {
						t.Fatal(err)
					}
				}
			}
			if err := s.record(); err != nil {
				t.Fatal(err)
			}
			got := s.read(t)
			if d := cmp.Diff(s.rows.now(t), got.table); d != "" {
				t.Errorf("(-told +replayed):\n%s", d)
			}
			if n := s.file.whole(); n != tc.segments {
				t.Errorf("%d segments, want %d", n, tc.segments)
			}
			if want := s.head; tc.segments == 1 && !got.head.Began.Equal(want.Began) || got.head.Sandbox != "test" || got.head.Began.After(want.Began) {
				t.Errorf("began %+v", got.head)
			}
			if n := onDisk(t, s.file); n > tc.size*5/4 {
				t.Errorf("%d bytes, want about %d", n, tc.size)
			}
			var last uint64
			for _, line := range got.lines {
				if line.Event != nil {
					last = line.Event.Seq
				}
			}
			if last != s.log.Last() && tc.changes > 0 && last+1 != s.log.Last() { // that it was full is told when it was
				t.Errorf("the last event is %d of %d", last, s.log.Last())
			}
		})
	}
}

func onDisk(t *testing.T, f *recordingFile) (size int64) {
	t.Helper()
	for _, p := range []string{f.path, f.older()} {
		info, err := os.Stat(p)
		if errors.Is(err, os.ErrNotExist) {
			continue
		}
		if err != nil {
			t.Fatal(err)
		}
		if info.Mode().Perm() != 0o600 {
			t.Errorf("%s is %v, want it for its owner only", p, info.Mode())
		}
		size += info.Size()
	}
	return size
}

// A segment begins with all rows and the newest events, and with what it is of.
func TestRecordingSegments(t *testing.T) {
	s := newRecordings(t, 1<<20, 2)
	for i := range 5 {
		s.rows.component(api.Component{Name: fmt.Sprint("c-", i)})
		s.log.Append(event.Event{Kind: "k"})
	}
	if err := s.rotate(); err != nil {
		t.Fatal(err)
	}
	b, err := os.ReadFile(s.file.path)
	if err != nil {
		t.Fatal(err)
	}
	got := readAll(t, bytes.NewReader(b))
	var events []uint64
	for _, line := range got.lines {
		if line.Event != nil {
			events = append(events, line.Event.Seq)
		}
	}
	if d := cmp.Diff([]uint64{4, 5}, events); d != "" || got.began != len(got.lines) || len(got.table) != 5 {
		t.Errorf("%d of %d lines at the beginning, %d rows; events:\n%s", got.began, len(got.lines), len(got.table), d)
	}
	if !got.head.Began.Equal(s.head.Began) {
		t.Errorf("began %s, want %s", got.head.Began, s.head.Began)
	}
	// And a new recording takes the place of both.
	file, err := createRecordingFile(s.file.path, 0)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := os.Stat(file.older()); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("the older segment: %v", err)
	}
}

// Lines come in the order in which things happened, whoever told them.
func TestRecordingOrder(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newRecordings(t, 1<<20, 10)
		began := time.Now()
		for i := range 4 {
			time.Sleep(time.Second)
			s.rows.component(api.Component{Name: "c", PID: i})
			time.Sleep(time.Second)
			s.log.Append(event.Event{Kind: fmt.Sprint("k.", i)})
		}
		s.log.Append(event.Event{Kind: "k.late", Time: began}) // as somebody else's clock has it
		if err := s.record(); err != nil {
			t.Fatal(err)
		}
		var got []string
		for _, line := range s.read(t).lines[1:] {
			what := "event"
			if line.Component != nil {
				what = "row"
			}
			got = append(got, fmt.Sprint(what, " ", line.Time.Sub(began)))
		}
		want := []string{"row 1s", "event 2s", "row 3s", "event 4s", "row 5s", "event 6s", "row 7s", "event 8s", "event 8s"}
		if d := cmp.Diff(want, got); d != "" {
			t.Errorf("(-want +got):\n%s", d)
		}
	})
}

// A recorder that falls too far behind begins anew, and says so; a recording never skips anything without a word.
func TestRecordingRestarts(t *testing.T) {
	s := newRecordings(t, 1<<20, 10)
	reader := s.file.reader()
	defer reader.close()
	if err := reader.copy(io.Discard); err != nil {
		t.Fatal(err)
	}
	for i := range maxBehind + 1 {
		s.rows.component(api.Component{Name: "ccm", PID: i})
	}
	for range 2 {
		if err := s.record(); err != nil {
			t.Fatal(err)
		}
		got := s.read(t)
		if d := cmp.Diff(s.rows.now(t), got.table); d != "" {
			t.Errorf("(-told +replayed):\n%s", d)
		}
		s.rows.component(api.Component{Name: "ccm", PID: 1}) // it goes on
	}
	events, _ := s.log.Read(0, 0)
	if len(events) != 1 || events[0].Kind != "recording.restarted" {
		t.Errorf("told %+v", events)
	}
	if err := reader.copy(io.Discard); !errors.Is(err, errCutOff) {
		t.Errorf("a reader of the one before: %v", err)
	}
	if n := s.file.whole(); n != 1 {
		t.Errorf("%d segments", n)
	}
}

// Who reads while segments come and go gets each line once, or is told that it cannot.
func TestRecordingReaders(t *testing.T) {
	s := newRecordings(t, 20<<10, 5)
	fast, slow, gone := s.file.reader(), s.file.reader(), s.file.reader()
	defer fast.close()
	defer slow.close()
	defer gone.close()
	var text, late bytes.Buffer
	copyTo := func(r *recordingReader, w io.Writer) {
		t.Helper()
		if err := r.copy(w); err != nil {
			t.Fatal(err)
		}
	}
	copyTo(slow, &late)
	copyTo(gone, io.Discard)
	segments := func() int { return s.file.newest().number }
	for i := 0; segments() < 6; i++ {
		s.change(i)
		if err := s.record(); err != nil {
			t.Fatal(err)
		}
		if copyTo(fast, &text); segments()%2 == 0 {
			copyTo(slow, &late)
		}
	}
	copyTo(slow, &late)
	if d := cmp.Diff(text.String(), late.String()); d != "" {
		t.Errorf("(-fast +slow):\n%s", d)
	}
	if d := cmp.Diff(s.rows.now(t), readAll(t, &text).table); d != "" {
		t.Errorf("(-told +replayed):\n%s", d)
	}
	if err := gone.copy(io.Discard); !errors.Is(err, errCutOff) {
		t.Errorf("a reader that came too late: %v", err)
	}
}

// Many write and many follow at once.
func TestRecordingFollowed(t *testing.T) {
	s := newRecordings(t, 256<<10, 50)
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	go func() { ended <- s.run(ctx) }()
	var writing, reading sync.WaitGroup
	texts := make([]bytes.Buffer, 3)
	for i := range texts {
		reader := s.file.reader()
		reading.Go(func() {
			defer reader.close()
			for more := true; more; more = reader.wait(t.Context()) {
				if err := reader.copy(&texts[i]); err != nil {
					t.Error(err)
					return
				}
			}
			if err := reader.copy(&texts[i]); err != nil {
				t.Error(err)
			}
		})
	}
	for range 4 {
		writing.Go(func() {
			for i := range 500 {
				if s.change(i); i%50 == 0 {
					s.settle(ctx)
				}
			}
		})
	}
	writing.Wait()
	cancel()
	if err := <-ended; err != nil {
		t.Error(err)
	}
	reading.Wait()
	for i := range texts {
		if d := cmp.Diff(s.rows.now(t), readAll(t, &texts[i]).table); d != "" {
			t.Errorf("reader %d (-told +replayed):\n%s", i, d)
		}
	}
	if n := s.file.newest().number; n != 2 { // with more, a reader may be cut off
		t.Errorf("%d segments", n)
	}
	s.settle(t.Context()) // nobody waits for one that has ended
	if len(s.rows.readers) != 0 {
		t.Error("the recorder still reads")
	}
}

// What cannot be written is told, and keeps nobody waiting.
func TestRecordingThatCannotBeWritten(t *testing.T) {
	var r rows
	if _, err := newRecorder(filepath.Join(t.TempDir(), "no", "recording.jsonl"), 0, 0, api.Recording{}, &r, event.NewLog(0)); err == nil || len(r.readers) != 0 {
		t.Errorf("made in a directory that does not exist: %v, %d readers", err, len(r.readers))
	}
	s := newSandbox(t, "single")
	if err := s.openRecording(); err != nil {
		t.Fatal(err)
	}
	if err := s.recorder.file.f.Close(); err != nil {
		t.Fatal(err)
	}
	s.rows.component(api.Component{Name: "ccm"})
	<-s.recorder.done
	if err := s.closeRecording(t.Context()); err != nil {
		t.Error(err)
	}
	events, _ := s.log.Read(0, 0)
	if len(events) != 1 || events[0].Kind != "recording.failed" || events[0].Level != event.Error {
		t.Errorf("told %+v", events)
	}
	c := serve(t, s)
	for follow, fails := range map[bool]bool{false: false, true: true} { // it has not ended with the sandbox
		err := c.Record(t.Context(), follow, func(api.Recording) error { return nil }, func(api.Recorded) error { return nil })
		if (err != nil) != fails {
			t.Errorf("follow=%v: %v", follow, err)
		}
	}
}

// A segment that could not be begun leaves nothing behind, and those before it can be read.
func TestSegmentThatCannotBeBegun(t *testing.T) {
	f, err := createRecordingFile(filepath.Join(t.TempDir(), "recording.jsonl"), 1<<20)
	if err != nil {
		t.Fatal(err)
	}
	full := errors.New("no space left")
	if err := f.begin(false, func() error { return full }); !errors.Is(err, full) {
		t.Error(err)
	}
	if err := f.begin(false, func() error { return f.write([]byte("first\n")) }); err != nil {
		t.Fatal(err)
	}
	if err := f.begin(true, func() error { return full }); !errors.Is(err, full) {
		t.Error(err)
	}
	if err := f.close(); err != nil {
		t.Error(err)
	}
	reader := f.reader()
	defer reader.close()
	var b bytes.Buffer
	if err := reader.copy(&b); err != nil || b.String() != "first\n" {
		t.Errorf("%q, %v", b.String(), err)
	}
	if _, err := os.Stat(f.unfinished()); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("what was begun is left: %v", err)
	}
}

// It is there from the first boot step on, and ends with the sandbox.
func TestRecordingOfASandbox(t *testing.T) {
	s, c := withRecording(t)
	s.rows.component(api.Component{Name: "ccm", State: "running"})
	s.log.Append(event.Event{Kind: "boot.step"})
	var head api.Recording
	begin := func(r api.Recording) error { head = r; return nil }
	var lines []api.Recorded
	if err := c.Record(t.Context(), false, begin, func(r api.Recorded) error { lines = append(lines, r); return nil }); err != nil {
		t.Fatal(err)
	}
	if len(lines) != 3 || !lines[0].Synced || lines[1].Component == nil || lines[2].Event == nil {
		t.Errorf("recorded %+v", lines)
	}
	want := api.Recording{
		APIVersion: api.RecordingVersion, Kind: api.RecordingKind, Sandbox: "test", Scenario: "single", Speed: 10,
		StartedAt: s.start, Version: build.Version(), KubernetesVersion: build.Kubernetes(), Began: head.Began,
		Ground: api.Ground{Cluster: "embedded", Inventory: "simulated", Writable: true, Nodes: "hollow"},
	}
	if d := cmp.Diff(want, head); d != "" {
		t.Errorf("(-want +got):\n%s", d)
	}
	told, ended := make(chan api.Recorded, 100), make(chan error, 1)
	go func() {
		ended <- c.Record(t.Context(), true, begin, func(r api.Recorded) error { told <- r; return nil })
	}()
	for range lines {
		<-told
	}
	s.rows.component(api.Component{Name: "ccm", State: "stopped"})
	if u := <-told; u.Component == nil || u.Component.State != "stopped" {
		t.Errorf("told %+v", u)
	}
	s.log.Append(event.Event{Kind: "sandbox.stopping"}) // told though it ends at once
	if err := s.closeAPI(t.Context()); err != nil {
		t.Error(err)
	}
	if err := <-ended; err != nil {
		t.Error(err)
	}
	if u := <-told; u.Event == nil || u.Event.Kind != "sandbox.stopping" {
		t.Errorf("told %+v", u)
	}
}

// A recording is there to be handed on: nobody can log in with it.
func TestRecordingHoldsNoPasswords(t *testing.T) {
	s, c := withFaults(t)
	if err := s.openRecording(); err != nil {
		t.Fatal(err)
	}
	if _, err := c.Inject(t.Context(), api.InjectRequest{Fault: "vm.power-off", On: api.Selector{Zone: "us-east"}, Mode: "all"}); err != nil {
		t.Fatal(err)
	}
	access, err := c.Access(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if err := s.closeRecording(t.Context()); err != nil {
		t.Fatal(err)
	}
	b, err := os.ReadFile(s.recorder.file.path)
	if err != nil {
		t.Fatal(err)
	}
	if got := readAll(t, bytes.NewReader(b)); len(got.table) == 0 || !bytes.Contains(b, []byte(access[0].URL)) {
		t.Errorf("%d rows", len(got.table))
	}
	for _, a := range access {
		if a.Password == "" || bytes.Contains(b, []byte(a.Password)) {
			t.Errorf("the password of vCenter %s is in it", a.VCenter)
		}
	}
}

// withRecording returns a sandbox that has come as far as the control API.
func withRecording(t *testing.T) (*Sandbox, *api.Client) {
	t.Helper()
	s := newSandbox(t, "single")
	if err := s.openEventFile(t.Context()); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := s.closeEventFile(context.Background()); err != nil {
			t.Error(err)
		}
	})
	return s, serve(t, s)
}

// Nothing that was not recorded is answered with.
func TestNoRecording(t *testing.T) {
	c := serve(t, newSandbox(t, "single"))
	requireCode(t, "recording", c.Record(t.Context(), false, nil, nil), "unavailable")
}

// BenchmarkRecord is a row that changes, with and without a recording: with -cpu 1, what both take together.
func BenchmarkRecord(b *testing.B) {
	for _, recording := range []bool{false, true} {
		b.Run(fmt.Sprintf("recording=%v", recording), func(b *testing.B) {
			var r rows
			log := event.NewLog(0)
			ended := make(chan error, 1)
			ctx, cancel := context.WithCancel(b.Context())
			defer cancel()
			if recording {
				rec, err := newRecorder(filepath.Join(b.TempDir(), "recording.jsonl"), recordingSize, recordingEvents, api.Recording{}, &r, log)
				if err != nil {
					b.Fatal(err)
				}
				go func() { ended <- rec.run(ctx) }()
			} else {
				ended <- nil
			}
			n := api.Node{Name: "worker-1", Registered: true, Ready: "True", Initialized: true, Region: "us", Zone: "us-west", ProviderID: "vsphere://4212c2a5-0000-4000-8000-000000000001", Addresses: []string{"198.18.0.1"}}
			b.ReportAllocs()
			for i := 0; b.Loop(); i++ {
				n.Version = fmt.Sprint(i)
				r.node(n, nil)
			}
			cancel()
			if err := <-ended; err != nil {
				b.Fatal(err)
			}
		})
	}
}
