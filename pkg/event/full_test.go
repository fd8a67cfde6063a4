package event

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"
	"testing/synctest"
	"time"
)

// disk is a file system of a size: a write that does not fit is cut short with ENOSPC, as the kernel does it.
type disk struct {
	mu   sync.Mutex
	free int64
}

func (d *disk) resize(free int64) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.free = free
}

func (d *disk) open(path string, flag int) (segmentFile, error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if _, err := os.Stat(path); err != nil && d.free == 0 {
		return nil, &os.PathError{Op: "open", Path: path, Err: syscall.ENOSPC} // there is no room for a new inode
	}
	f, err := os.OpenFile(path, flag, 0o600)
	if err != nil {
		return nil, err
	}
	return &fileOnDisk{File: f, d: d}, nil
}

type fileOnDisk struct {
	*os.File
	d *disk
}

func (f *fileOnDisk) Write(b []byte) (int, error) {
	f.d.mu.Lock()
	defer f.d.mu.Unlock()
	fits := min(int64(len(b)), f.d.free)
	n, err := f.File.Write(b[:fits])
	if f.d.free -= int64(n); err == nil && n < len(b) {
		err = &os.PathError{Op: "write", Path: f.Name(), Err: syscall.ENOSPC}
	}
	return n, err
}

// copying returns a log of a capacity with n events, and the path of its copy on a disk. end ends the copy and returns its
// error.
func copying(t *testing.T, d *disk, n, capacity int, size int64) (l *Log, path string, end func() error) {
	t.Helper()
	path = filepath.Join(t.TempDir(), "events.jsonl")
	f, err := CreateFile(path, size)
	if err != nil {
		t.Fatal(err)
	}
	if err := f.f.Close(); err != nil {
		t.Fatal(err)
	}
	f.openFile = d.open
	if err := f.open(os.O_TRUNC); err != nil {
		t.Fatal(err)
	}
	l = NewLog(capacity)
	fill(l, n)
	ctx, cancel := context.WithCancel(t.Context())
	copied := make(chan error, 1)
	go func() { copied <- f.Copy(ctx, l) }()
	return l, path, func() error {
		cancel()
		return errors.Join(<-copied, f.Close())
	}
}

// kinds are the kinds of the sandbox's own events in a log, with their messages.
func kinds(l *Log) (list []string) {
	events, _ := l.Read(0, 0)
	for _, e := range events {
		if e.Plane == PlaneSandbox {
			list = append(list, e.Kind+": "+e.Message)
		}
	}
	return list
}

// requireWhole checks that a file has whole lines only, the last of them of an event, and returns how many events it says are
// lost.
func requireWhole(t *testing.T, path string, last uint64) (lost uint64) {
	t.Helper()
	for _, segment := range segments(path) {
		text, err := os.ReadFile(segment)
		if err != nil {
			t.Fatal(err)
		}
		if len(text) > 0 && text[len(text)-1] != '\n' {
			t.Errorf("%s ends with a torn line: %q", filepath.Base(segment), text[max(0, len(text)-40):])
		}
	}
	all := lines(t, path)
	for i, line := range all {
		lost += line.Lost
		if i > 0 && line.Seq != all[i-1].Seq+line.Lost+1 {
			t.Errorf("event %d follows %d, %d lost", line.Seq, all[i-1].Seq, line.Lost)
		}
	}
	if len(all) == 0 || all[len(all)-1].Seq != last {
		t.Errorf("%d events, want the last to be %d", len(all), last)
	}
	return lost
}

// A disk that was full and has room again has every event that the log still knows, in whole lines.
func TestFileResumes(t *testing.T) {
	for _, tc := range []struct {
		name     string
		capacity int
		size     int64
		free     int64 // bytes until the disk is full
		lost     uint64
	}{
		{name: "within the first line", free: 10},
		{name: "between lines", free: 0},
		{name: "amid many", free: 3001},
		{name: "more than a buffer", free: 70_001},
		{name: "the log forgets", capacity: 50, free: 100, lost: 854},
		{name: "at a new segment", size: 8 << 10, free: 4 << 10},
	} {
		t.Run(tc.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				d := &disk{free: tc.free}
				l, path, end := copying(t, d, 900, tc.capacity, tc.size)
				synctest.Wait() // it has met the full disk, and waits
				if said := kinds(l); len(said) != 1 || !strings.HasPrefix(said[0], "event-file.failed: ") || !strings.Contains(said[0], "no space left on device") {
					t.Fatalf("said %q", said)
				}
				for range 3 { // several attempts are one failure
					l.Append(Event{Kind: "more"})
					time.Sleep(5 * retryPause)
					synctest.Wait()
				}
				if n := len(kinds(l)); n != 1 {
					t.Errorf("said %d times that it fails", n)
				}
				torn, err := os.ReadFile(path)
				if err == nil && len(torn) > 0 && torn[len(torn)-1] != '\n' {
					t.Errorf("while it waits, the file is torn: %q", torn[max(0, len(torn)-40):])
				}
				d.resize(1 << 30)
				time.Sleep(2 * retryPause)
				fill(l, 5)
				synctest.Wait()
				said := kinds(l)
				at := slices.IndexFunc(said, func(s string) bool { return strings.HasPrefix(s, "event-file.resumed: ") })
				if at < 0 {
					t.Fatalf("said %q", said)
				}
				want := "none is missing"
				if tc.lost > 0 {
					want = fmt.Sprintf("events 1 to %d are missing", tc.lost)
				}
				if !strings.HasSuffix(said[at], "; "+want) {
					t.Errorf("said %q, want %q", said[at], want)
				}
				if err := end(); err != nil {
					t.Error(err)
				}
				if lost := requireWhole(t, path, l.Last()); lost != tc.lost {
					t.Errorf("%d events are lost, want %d", lost, tc.lost)
				}
			})
		})
	}
}

// A disk that is full to the end leaves whole lines, and the copy says that the last events are missing.
func TestFileEndsOnAFullDisk(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d := &disk{free: 1000}
		_, path, end := copying(t, d, 100, 0, 0)
		synctest.Wait()
		if err := end(); !errors.Is(err, syscall.ENOSPC) {
			t.Errorf("err = %v, want %v", err, syscall.ENOSPC)
		}
		all := lines(t, path)
		if len(all) > 0 {
			requireWhole(t, path, all[len(all)-1].Seq)
		}
		if text, err := os.ReadFile(path); err != nil || len(text) > 0 && text[len(text)-1] != '\n' {
			t.Errorf("%q, %v", text, err)
		}
	})
}
