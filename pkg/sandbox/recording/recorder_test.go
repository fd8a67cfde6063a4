package recording

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/event"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/provider/match"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/sandbox/api"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/sandbox/watchcache"
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
			if d := cmp.Diff(table(t, &s.cache), got.table); d != "" {
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
			if last != s.log.Last() && tc.changes > 0 && last+1 != s.log.Last() { // a full recorder reports it
				t.Errorf("the last event is %d of %d", last, s.log.Last())
			}
		})
	}
}

func onDisk(t *testing.T, f *file) (size int64) {
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
		s.cache.SetComponent(api.Component{Name: fmt.Sprint("c-", i)})
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
	file, err := createFile(s.file.path, 0)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := os.Stat(file.older()); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("the older segment: %v", err)
	}
}

// Lines are in the order of the changes, from whichever source they came.
func TestRecordingOrder(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newRecordings(t, 1<<20, 10)
		began := time.Now()
		for i := range 4 {
			time.Sleep(time.Second)
			s.cache.SetComponent(api.Component{Name: "c", PID: i})
			time.Sleep(time.Second)
			s.log.Append(event.Event{Kind: fmt.Sprint("k.", i)})
		}
		s.log.Append(event.Event{Kind: "k.late", Time: began}) // by another clock
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

// A recorder that falls too far behind begins again and reports it; a recording never skips a line silently.
func TestRecordingRestarts(t *testing.T) {
	s := newRecordings(t, 1<<20, 10)
	reader := s.file.reader()
	defer reader.close()
	if err := reader.copy(io.Discard); err != nil {
		t.Fatal(err)
	}
	for i := range watchcache.MaxBehind + 1 {
		s.cache.SetComponent(api.Component{Name: "ccm", PID: i})
	}
	for range 2 {
		if err := s.record(); err != nil {
			t.Fatal(err)
		}
		got := s.read(t)
		if d := cmp.Diff(table(t, &s.cache), got.table); d != "" {
			t.Errorf("(-told +replayed):\n%s", d)
		}
		s.cache.SetComponent(api.Component{Name: "ccm", PID: 1}) // it continues
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

// A reader gets each line once while segments come and go, or an error.
func TestRecordingReaders(t *testing.T) {
	s := newRecordings(t, 20<<10, 5)
	fast, slow, gone := s.file.reader(), s.file.reader(), s.file.reader()
	defer fast.close()
	defer slow.close()
	defer gone.close()
	var text, late bytes.Buffer
	copyTo := func(r *reader, w io.Writer) {
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
	if d := cmp.Diff(table(t, &s.cache), readAll(t, &text).table); d != "" {
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
		if d := cmp.Diff(table(t, &s.cache), readAll(t, &texts[i]).table); d != "" {
			t.Errorf("reader %d (-told +replayed):\n%s", i, d)
		}
	}
	if n := s.file.newest().number; n != 2 { // with more, a reader may be cut off
		t.Errorf("%d segments", n)
	}
	s.settle(t.Context()) // returns for a recorder that has ended
	requireClosed(t, &s.cache, s.reader)
}

// A failed write is reported, and blocks no caller.
func TestRecordingThatCannotBeWritten(t *testing.T) {
	cache := spy{Cache: &watchcache.Cache{}}
	if _, err := newRecorder(filepath.Join(t.TempDir(), "no", "recording.jsonl"), 0, 0, api.Recording{}, &cache, event.NewLog(0)); err == nil {
		t.Error("made in a directory that does not exist")
	}
	requireClosed(t, cache.Cache, cache.reader)
	s := newRecordings(t, 1<<20, 10)
	if err := s.file.f.Close(); err != nil {
		t.Fatal(err)
	}
	s.cache.SetComponent(api.Component{Name: "ccm"})
	s.Run(t.Context())
	events, _ := s.log.Read(0, 0)
	if len(events) != 1 || events[0].Kind != "recording.failed" || events[0].Level != event.Error {
		t.Errorf("logged %+v", events)
	}
	for follow, fails := range map[bool]bool{false: false, true: true} { // it has not ended with the sandbox
		server := httptest.NewServer(s.Recorder)
		req, err := http.NewRequestWithContext(t.Context(), http.MethodGet, fmt.Sprintf("%s?follow=%v", server.URL, follow), nil)
		if err != nil {
			t.Fatal(err)
		}
		resp, err := server.Client().Do(req)
		if err != nil {
			t.Fatal(err)
		}
		_, err = io.Copy(io.Discard, resp.Body)
		if (err != nil) != fails {
			t.Errorf("follow=%v: %v", follow, err)
		}
		if err := resp.Body.Close(); err != nil {
			t.Error(err)
		}
		server.Close()
	}
}

// A segment that could not be begun leaves nothing behind, and those before it can be read.
func TestSegmentThatCannotBeBegun(t *testing.T) {
	f, err := createFile(filepath.Join(t.TempDir(), "recording.jsonl"), 1<<20)
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

// BenchmarkRecord is a row that changes, with and without a recording: with -cpu 1, what both take together.
func BenchmarkRecord(b *testing.B) {
	for _, recording := range []bool{false, true} {
		b.Run(fmt.Sprintf("recording=%v", recording), func(b *testing.B) {
			var cache watchcache.Cache
			log := event.NewLog(0)
			ended := make(chan error, 1)
			ctx, cancel := context.WithCancel(b.Context())
			defer cancel()
			if recording {
				rec, err := newRecorder(filepath.Join(b.TempDir(), "recording.jsonl"), maxSize, maxEvents, api.Recording{}, &cache, log)
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
				cache.SetNode(n, match.Node{Name: n.Name, ProviderID: n.ProviderID})
			}
			cancel()
			if err := <-ended; err != nil {
				b.Fatal(err)
			}
		})
	}
}
