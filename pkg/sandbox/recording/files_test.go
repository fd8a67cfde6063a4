package recording

import (
	"encoding/json"
	"os"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/vsphere-sandbox/vsphere-sandbox/internal/instance"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/event"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/sandbox/api"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/sandbox/background"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/sandbox/watchcache"
)

func TestEventFile(t *testing.T) {
	dir, err := instance.Create(t.TempDir(), "test")
	if err != nil {
		t.Fatal(err)
	}
	log := event.NewLog(2)
	f := &Files{Log: log, Dir: dir, Source: &watchcache.Cache{}, Background: &background.Groups{}, Head: func() api.Recording { return api.Recording{} }}
	for _, kind := range []string{"a", "b", "c"} {
		log.Append(event.Event{Kind: kind, Plane: event.PlaneSandbox})
	}
	if err := f.Open(t.Context()); err != nil {
		t.Fatal(err)
	}
	// Close writes the last events, too.
	log.Append(event.Event{Kind: "d", Plane: event.PlaneSandbox, Cause: 3})
	if err := f.Close(t.Context()); err != nil {
		t.Fatal(err)
	}
	path := dir.Path("events.jsonl")
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	var got []uint64 // numbers of events, and what is missing before them
	var missing uint64
	for line := range strings.Lines(string(text)) {
		var e api.EventLine
		if err := json.Unmarshal([]byte(line), &e); err != nil {
			t.Fatalf("%q: %v", line, err)
		}
		got = append(got, e.Seq)
		missing += e.Lost
	}
	if n := len(got); n < 2 || got[n-1] != 4 || missing != uint64(4-n) {
		t.Errorf("events %v, %d missing", got, missing)
	}
	if info, err := os.Stat(path); err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("%v, %v, want it for its owner only", info.Mode(), err)
	}
	if diff := cmp.Diff(true, strings.HasSuffix(string(text), "}\n")); diff != "" {
		t.Error("the last line is not whole")
	}
}
