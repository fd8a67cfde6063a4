package home

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/vsphere-sandbox/vsphere-sandbox/internal/cli/report"
	"github.com/vsphere-sandbox/vsphere-sandbox/internal/instance"
)

// A sandbox whose directory is removed is asked to end, says why, and leaves nothing; one that ends otherwise is not said to have
// lost it.
func TestWhile(t *testing.T) {
	for name, removed := range map[string]bool{"removed": true, "ended": false} {
		t.Run(name, func(t *testing.T) {
			root := t.TempDir()
			h, err := Open(t.Context(), root, "lab", "single", func(text string) { t.Errorf("said %q", text) })
			if err != nil {
				t.Fatal(err)
			}
			asked, cancel := context.WithCancel(t.Context())
			defer cancel()
			ctx, stop := h.Context(asked)
			if removed {
				err = os.RemoveAll(h.Dir.Path())
			} else {
				cancel()
			}
			if err != nil {
				t.Fatal(err)
			}
			select {
			case <-ctx.Done():
			case <-time.After(30 * time.Second):
				t.Fatal("it is not asked to end")
			}
			stop()
			if r := report.Of(h.Removed(ctx)); (r.Code == "directory-removed") != removed || removed && r.Try == "" {
				t.Errorf("reported as %+v", r)
			}
			if err := h.Release(false); err != nil {
				t.Error(err)
			}
			if left, err := os.ReadDir(root); err != nil || len(left) > 0 {
				t.Errorf("left %v, %v", left, err)
			}
		})
	}
}

// What makes a directory unusable, and a name taken, is said with a way out.
func TestExplainState(t *testing.T) {
	file := filepath.Join(t.TempDir(), "file")
	shared := t.TempDir()
	if err := errors.Join(os.WriteFile(file, nil, 0o600), os.Chmod(shared, 0o777|os.ModeSticky)); err != nil {
		t.Fatal(err)
	}
	for root, code := range map[string]string{file: "state-unusable", filepath.Join(file, "below"): "state-unusable", "/proc/foo": "state-unusable", shared: "state-untrusted"} {
		_, err := Open(t.Context(), root, "lab", "single", func(string) {})
		if r := report.Of(ExplainState(err, "lab", "up")); r.Code != code || r.Exit != report.Prerequisite || r.Try == "" {
			t.Errorf("%s: %+v", root, r)
		}
	}
	r := report.Of(ExplainState(instance.ErrRunning{Name: "lab", PID: 7, Removed: true}, "lab", "up"))
	want := report.Record{
		Code: "already-running", Message: `sandbox "lab" is still running, as process 7: its directory was removed, and it is about to end`,
		Try: "vsphere-sandbox down --name lab   # which waits for that", Exit: report.Failure,
	}
	if r != want {
		t.Errorf("got  %+v\nwant %+v", r, want)
	}
}
