package recording

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"path/filepath"
	"testing"

	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/event"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/sandbox/api"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/sandbox/watchcache"
)

// recordings is what a recorder needs.
type recordings struct {
	cache watchcache.Cache
	log   *event.Log
	*Recorder
}

// newRecordings returns a recorder that is run by hand.
func newRecordings(t testing.TB, size int64, events int) *recordings {
	t.Helper()
	s := &recordings{log: event.NewLog(0)}
	head := api.Recording{APIVersion: api.RecordingVersion, Kind: api.RecordingKind, Sandbox: "test", Speed: 10}
	var err error
	if s.Recorder, err = newRecorder(filepath.Join(t.TempDir(), "recording.jsonl"), size, events, head, &s.cache, s.log); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := s.file.close(); err != nil {
			t.Error(err)
		}
	})
	return s
}

// recorded is a recording as a reader has it.
type recorded struct {
	head  api.Recording
	lines []api.Recorded
	table map[string]api.Update // of rows, at the end
	began int                   // lines before the first that is Synced, with it
}

// readAll reads a recording, and checks what holds for every one.
func readAll(t testing.TB, r io.Reader) recorded {
	t.Helper()
	got := recorded{table: map[string]api.Update{}}
	seq := uint64(0)
	err := api.ReadRecording(r, func(h api.Recording) error { got.head = h; return nil }, func(line api.Recorded) error {
		if n := len(got.lines); n > 0 && line.Time.Before(got.lines[n-1].Time) {
			return fmt.Errorf("line %d is of %s, after one of %s", n, line.Time, got.lines[n-1].Time)
		}
		got.lines = append(got.lines, line)
		switch {
		case line.Synced && got.began > 0:
			return errors.New("synced twice")
		case line.Synced:
			got.began = len(got.lines)
		case line.Event != nil:
			if seq > 0 && line.Event.Seq != seq+line.Lost+1 {
				return fmt.Errorf("event %d follows %d, %d lost", line.Event.Seq, seq, line.Lost)
			}
			seq = line.Event.Seq
		case line.Deleted:
			if _, there := got.table[rowKey(line.Update)]; !there {
				return fmt.Errorf("%s is gone and was not there", rowKey(line.Update))
			}
			delete(got.table, rowKey(line.Update))
		default:
			got.table[rowKey(line.Update)] = line.Update
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	if got.began == 0 {
		t.Fatal("never synced")
	}
	return got
}

// rowKey is what a row is known by.
func rowKey(u api.Update) string {
	switch {
	case u.Component != nil:
		return "component/" + u.Component.Name
	case u.Volume != nil:
		return "volume/" + u.Volume.Name
	case u.VM != nil:
		return "vm/" + u.VM.VCenter + "/" + u.VM.MoRef
	case u.Host != nil:
		return "host/" + u.Host.VCenter + "/" + u.Host.Datacenter + "/" + u.Host.Name
	case u.Node != nil:
		return "node/" + u.Node.Name
	case u.VCenter != nil:
		return "vcenter/" + u.VCenter.Name
	case u.Calls != nil:
		return "calls/" + u.Calls.VCenter + "\x00" + u.Calls.Client + "\x00" + u.Calls.Method
	case u.Lease != nil:
		return "lease/" + u.Lease.ID
	case u.Run != nil:
		return "run"
	}
	return "?"
}

// table is the rows of a cache.
func table(t testing.TB, c *watchcache.Cache) map[string]api.Update {
	t.Helper()
	lines, reader := c.Read()
	reader.Close()
	table := map[string]api.Update{}
	for _, l := range lines {
		var u api.Update
		if err := json.Unmarshal(l, &u); err != nil {
			t.Fatal(err)
		}
		table[rowKey(u)] = u
	}
	return table
}

// requireClosed fails when a reader still gets changes.
func requireClosed(t testing.TB, c *watchcache.Cache, r *watchcache.Reader) {
	t.Helper()
	r.Take()
	c.SetComponent(api.Component{Name: "after the end"})
	if changes, _ := r.Take(); len(changes.Lines) > 0 {
		t.Error("the recorder still reads")
	}
}

// spy is a source that remembers its reader.
type spy struct {
	*watchcache.Cache
	reader *watchcache.Reader
}

func (s *spy) Read() (lines [][]byte, r *watchcache.Reader) {
	lines, s.reader = s.Cache.Read()
	return lines, s.reader
}

// change does something to rows and events.
func (s *recordings) change(i int) {
	name := fmt.Sprintf("c-%d", rand.IntN(50))
	switch rand.IntN(6) {
	case 0:
		s.cache.DeleteComponent(name)
	case 1:
		s.cache.SetVolume(api.Volume{Name: name, Claim: fmt.Sprint("default/", i)}, rand.IntN(2) == 0)
	case 2, 3:
		s.log.Append(event.Event{Kind: "k." + name, Message: fmt.Sprint(i)})
	default:
		s.cache.SetComponent(api.Component{Name: name, PID: i})
	}
}

func (s *recordings) read(t testing.TB) recorded {
	t.Helper()
	var b bytes.Buffer
	reader := s.file.reader()
	defer reader.close()
	if err := reader.copy(&b); err != nil {
		t.Fatal(err)
	}
	return readAll(t, &b)
}
