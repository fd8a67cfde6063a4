package replay

import (
	"bytes"
	"testing"
	"time"

	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/tui/tuitest"
)

// FuzzRead plays any recording, forwards and backwards: no file may crash the program.
func FuzzRead(f *testing.F) {
	story := recording(f, tuitest.Story()[:60])
	lines := bytes.SplitAfter(story, []byte("\n"))
	f.Add(story)
	f.Add(story[:len(story)-7])
	f.Add(bytes.Join([][]byte{lines[0], lines[30], lines[0], lines[2], lines[10]}, nil))
	f.Add(append(bytes.Clone(lines[0]), `{"node":{"name":"n","labels":null},"deleted":true}`...))
	f.Add(append(bytes.Clone(lines[0]), `{"time":"0001-01-01T00:00:00Z","synced":true}
{"time":"9999-12-31T23:59:59Z","calls":{"calls":18446744073709551615,"errors":7}}
{"lease":{"id":"f1","until":"2026-09-01T12:00:00Z","state":"active"}}`...))
	f.Fuzz(func(t *testing.T, text []byte) {
		p, err := read("r", bytes.NewReader(text), 1<<20)
		if err != nil {
			return
		}
		if p.Len() < 0 || p.At() != 0 {
			t.Fatalf("%s long, at %s", p.Len(), p.At())
		}
		for _, d := range []time.Duration{p.Len(), 0, p.Len() / 2} {
			s := p.Seek(d)
			s.Findings()
			s.Calls()
			s.NextTick()
		}
		if _, ended := p.Step(p.Len()); !ended {
			t.Error("it does not end")
		}
	})
}
