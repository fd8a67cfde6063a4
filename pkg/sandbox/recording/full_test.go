package recording

import (
	"context"
	"io"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/sandbox/api"
)

// tornFile writes half of what it gets, and fails, while its disk is full.
type tornFile struct {
	io.WriteCloser
	full *atomic.Bool
}

func (f tornFile) Write(b []byte) (int, error) {
	if !f.full.Load() {
		return f.WriteCloser.Write(b)
	}
	n, err := f.WriteCloser.Write(b[:len(b)/2])
	if err == nil {
		err = syscall.ENOSPC
	}
	return n, err
}

// A disk that was full and has room again has a recording again, of all that there is by then.
func TestRecordingResumes(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newRecordings(t, 1<<20, 10)
		var full atomic.Bool
		open := s.file.openFile
		s.file.openFile = func(path string, flag int) (io.WriteCloser, error) {
			f, err := open(path, flag)
			return tornFile{f, &full}, err
		}
		s.file.f = tornFile{s.file.f, &full}
		s.file.w.Reset(s.file.f)
		ctx, cancel := context.WithCancel(t.Context())
		ended := make(chan error, 1)
		go func() { ended <- s.run(ctx) }()

		s.cache.SetComponent(api.Component{Name: "before", PID: 1})
		s.settle(t.Context())
		full.Store(true)
		for i := range 3 {
			s.cache.SetComponent(api.Component{Name: "while", PID: i})
			time.Sleep(3 * retryDelay)
			s.settle(t.Context()) // waits for nothing
		}
		if kinds := recordingKinds(s); cmp.Diff([]string{"recording.failed"}, kinds) != "" {
			t.Fatalf("said %q", kinds)
		}
		text, err := os.ReadFile(s.file.path)
		if err != nil || !strings.HasSuffix(string(text), "\n") {
			t.Errorf("torn: %q, %v", text[max(0, len(text)-40):], err)
		}
		if left, _ := filepath.Glob(s.file.unfinished()); len(left) > 0 {
			t.Errorf("left %q", left)
		}
		full.Store(false)
		time.Sleep(2 * retryDelay)
		s.cache.SetComponent(api.Component{Name: "after", PID: 1})
		s.settle(t.Context())
		got := s.read(t)
		if d := cmp.Diff(table(t, &s.cache), got.table); d != "" || len(got.table) != 3 {
			t.Errorf("%d rows (-rows +replayed):\n%s", len(got.table), d)
		}
		if kinds := recordingKinds(s); cmp.Diff([]string{"recording.failed", "recording.restarted"}, kinds) != "" {
			t.Errorf("said %q", kinds)
		}
		cancel()
		if err := <-ended; err != nil {
			t.Error(err)
		}
		requireClosed(t, &s.cache, s.reader)
	})
}

// recordingKinds are the kinds of events about a recording.
func recordingKinds(s *recordings) (kinds []string) {
	events, _ := s.log.Read(0, 0)
	for _, e := range events {
		if strings.HasPrefix(e.Kind, "recording.") {
			kinds = append(kinds, e.Kind)
		}
	}
	return kinds
}
