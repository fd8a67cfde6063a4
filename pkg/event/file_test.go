package event

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/vsphere-sandbox/vsphere-sandbox/internal/race"
)

// copyOf copies a log that has been written already.
func copyOf(t *testing.T, l *Log, size int64) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "events.jsonl")
	f, err := CreateFile(path, size)
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if err := f.Copy(ctx, l); err != nil {
		t.Fatal(err)
	}
	if err := f.Close(); err != nil {
		t.Fatal(err)
	}
	return path
}

func lines(t *testing.T, path string) []Line {
	t.Helper()
	var all []Line
	if err := readSegments(path, func(l Line) error { all = append(all, l); return nil }); err != nil {
		t.Fatal(err)
	}
	return all
}

func TestFile(t *testing.T) {
	l := NewLog(2)
	fill(l, 4)
	path := copyOf(t, l, 0)
	got := lines(t, path)
	if len(got) != 2 || got[0].Seq != 3 || got[0].Lost != 2 || got[1].Seq != 4 || got[1].Lost != 0 {
		t.Errorf("got %+v", got)
	}
	if info, err := os.Stat(path); err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("%v, %v, want it for its owner only", info.Mode(), err)
	}
	// A line that was cut short by a kill is left out.
	f, err := os.OpenFile(path, os.O_APPEND|os.O_WRONLY, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	if _, err := f.WriteString(`{"seq":5,"ti`); err != nil {
		t.Fatal(err)
	}
	if d := cmp.Diff(got, lines(t, path)); d != "" {
		t.Error(d)
	}
}

// A file that is full has the newest events, whole and in order, and says which are gone.
func TestFileRotates(t *testing.T) {
	const size = 8 << 10
	l := NewLog(0)
	fill(l, 500)
	path := copyOf(t, l, size)
	if n := len(segments(path)); n != 2 {
		t.Fatalf("%d segments", n)
	}
	if n := onDisk(t, path); n > size {
		t.Errorf("%d bytes, want at most %d", n, size)
	}
	got := lines(t, path)
	for i, line := range got {
		if line.Seq != got[0].Seq+uint64(i) || line.Lost != 0 {
			t.Fatalf("line %d is event %d, %d lost", i, line.Seq, line.Lost)
		}
	}
	if last := got[len(got)-1].Seq; last != 501 { // that it has rotated
		t.Errorf("the last event is %d", last)
	}
	events, _ := l.Read(500, 0)
	want := fmt.Sprintf("events up to %d are no longer in events.jsonl, which is full", got[0].Seq-1)
	if len(events) != 1 || events[0].Kind != "event-file.rotated" || events[0].Message != want {
		t.Errorf("told %+v, want %q", events, want)
	}
	// A new one takes the place of both.
	f, err := CreateFile(path, size)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	if n := len(lines(t, path)); n != 0 {
		t.Errorf("%d lines in a new file", n)
	}
}

func TestFileThatCannotBeWritten(t *testing.T) {
	if _, err := CreateFile(filepath.Join(t.TempDir(), "no", "events.jsonl"), 0); err == nil {
		t.Error("made in a directory that does not exist")
	}
	f, err := CreateFile(filepath.Join(t.TempDir(), "events.jsonl"), 0)
	if err != nil {
		t.Fatal(err)
	}
	if err := f.f.Close(); err != nil {
		t.Fatal(err)
	}
	l := NewLog(0)
	fill(l, 1)
	if err := f.Copy(t.Context(), l); !errors.Is(err, os.ErrClosed) {
		t.Errorf("err = %v", err)
	}
}

// A million events, as large as they are, leave memory and disk below 200 MB.
func TestMillionEvents(t *testing.T) {
	race.SkipSlow(t)
	n := 1_000_000
	if race.Enabled { // which allocates memory itself
		n = 100_000
	}
	before := heap()
	l := NewLog(0)
	path := filepath.Join(t.TempDir(), "events.jsonl")
	f, err := CreateFile(path, 0)
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	copied := make(chan error, 1)
	go func() { copied <- f.Copy(ctx, l) }()
	for i := range n {
		l.Append(typical(i))
	}
	memory := heap() - before
	cancel()
	if err := <-copied; err != nil {
		t.Fatal(err)
	}
	if err := f.Close(); err != nil {
		t.Fatal(err)
	}
	disk := onDisk(t, path)
	t.Logf("%d events: %d MB of memory, %d MB on disk", n, memory>>20, disk>>20)
	if memory+disk > 200<<20 || disk > DefaultFileSize {
		t.Errorf("%d bytes of memory and %d on disk", memory, disk)
	}
	// None is missing without a word.
	next, newest := uint64(0), uint64(0)
	err = readSegments(path, func(line Line) error {
		if next != 0 && line.Seq != next+line.Lost {
			return fmt.Errorf("event %d follows %d, %d lost", line.Seq, next-1, line.Lost)
		}
		next, newest = line.Seq+1, line.Seq
		return nil
	})
	if err != nil || newest < uint64(n) {
		t.Errorf("%v; the newest is %d", err, newest)
	}
	runtime.KeepAlive(l)
}

// typical is an event as they come.
func typical(i int) Event {
	return Event{
		Plane: PlaneVSphere, Kind: "vm.powered-off", Object: Object{Kind: "VM", VCenter: "us", Name: fmt.Sprintf("worker-%d", i%1000)},
		Message: fmt.Sprintf("VM worker-%d was powered off by administrator@vsphere.local, for the %dth time: %s", i%1000, i, strings.Repeat("x", 40)), Cause: uint64(i),
	}
}

func heap() int64 {
	runtime.GC()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return int64(m.HeapAlloc)
}

func onDisk(t *testing.T, path string) (size int64) {
	t.Helper()
	for _, p := range segments(path) {
		info, err := os.Stat(p)
		if err != nil {
			t.Fatal(err)
		}
		size += info.Size()
	}
	return size
}

func BenchmarkAppend(b *testing.B) {
	e := typical(1)
	for _, readers := range []int{0, 4} {
		b.Run(fmt.Sprintf("readers=%d", readers), func(b *testing.B) {
			l := NewLog(0)
			ctx, cancel := context.WithCancel(b.Context())
			ended := make(chan struct{}, readers)
			for range readers {
				go func() {
					defer func() { ended <- struct{}{} }()
					for seq := uint64(0); ; {
						events, _, err := l.Wait(ctx, seq, 1024)
						if err != nil {
							return
						}
						seq = events[len(events)-1].Seq
					}
				}()
			}
			b.ReportAllocs()
			for b.Loop() {
				l.Append(e)
			}
			cancel()
			for range readers {
				<-ended
			}
		})
	}
}

// BenchmarkFile is an event from the log to the file.
func BenchmarkFile(b *testing.B) {
	f, err := CreateFile(filepath.Join(b.TempDir(), "events.jsonl"), 0)
	if err != nil {
		b.Fatal(err)
	}
	defer f.Close()
	batch := make([]Event, 1024)
	for i := range batch {
		batch[i] = typical(i)
		batch[i].Seq = uint64(i + 1)
	}
	b.ReportAllocs()
	n := 0
	for b.Loop() {
		if n++; n%len(batch) == 0 {
			if _, err := f.write(batch, 0); err != nil {
				b.Fatal(err)
			}
		}
	}
}

// readSegments reads the lines of a [File] without a writer, oldest first. It skips a truncated last line.
func readSegments(path string, each func(Line) error) error {
	for _, segment := range segments(path) {
		if err := readSegment(segment, each); err != nil {
			return err
		}
	}
	return nil
}

func readSegment(path string, each func(Line) error) error {
	f, err := os.Open(path)
	if err != nil {
		return err
	}
	defer f.Close()
	r := bufio.NewReaderSize(f, 64<<10)
	for number := 1; ; number++ {
		text, err := r.ReadBytes('\n')
		if err == io.EOF {
			return nil
		} else if err != nil {
			return err
		}
		var line Line
		if err := json.Unmarshal(text, &line); err != nil {
			return fmt.Errorf("%s:%d: %w", path, number, err)
		}
		if err := each(line); err != nil {
			return err
		}
	}
}

// segments returns the existing files of a [File], oldest first.
func segments(path string) []string {
	var list []string
	for _, p := range []string{older(path), path} {
		if _, err := os.Stat(p); err == nil {
			list = append(list, p)
		}
	}
	return list
}
