package home

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/vsphere-sandbox/vsphere-sandbox/internal/cli/report"
	"github.com/vsphere-sandbox/vsphere-sandbox/internal/coded"
	"github.com/vsphere-sandbox/vsphere-sandbox/internal/instance"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/cluster/existing"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/cluster/kind/runtime"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/ground"
)

// A directory that lists containers always stays, so that the next command removes them.
func TestLeave(t *testing.T) {
	for name, tc := range map[string]struct {
		note          string
		there         bool
		retain, stays bool
	}{
		"all is gone":         {},
		"kept":                {retain: true, stays: true},
		"containers are left": {note: `{"runtime":"docker"}`, stays: true},
		"nobody knows":        {note: "{broken", stays: true},
		"objects are left":    {there: true, stays: true},
	} {
		t.Run(name, func(t *testing.T) {
			root := t.TempDir()
			h, err := Open(t.Context(), root, "lab", "single", func(text string) { t.Errorf("said %q", text) })
			if err != nil {
				t.Fatal(err)
			}
			if tc.there {
				if err := existing.WriteNote(h.Dir.Path(), existing.Note{Name: "lab"}); err != nil {
					t.Fatal(err)
				}
			}
			if tc.note != "" {
				if err := os.WriteFile(h.Dir.Path("kind.json"), []byte(tc.note), 0o600); err != nil {
					t.Fatal(err)
				}
			}
			if err := h.Release(tc.retain); (err != nil) != strings.HasPrefix(tc.note, "{broken") {
				t.Errorf("leave: %v", err)
			}
			if _, err := os.Stat(filepath.Join(root, "lab")); (err == nil) != tc.stays {
				t.Errorf("its directory: %v", err)
			}
			entries, err := instance.List(root)
			if err != nil || len(entries) > 0 && (entries[0].Running || entries[0].Record.Retained != tc.retain) {
				t.Errorf("listed %+v, %v", entries, err)
			}
		})
	}
}

// What is left comes before the reason in the error, with what to do about both.
func TestLeftBehind(t *testing.T) {
	stopped := &coded.Error{Code: runtime.Stopped, Message: "docker is installed, but nothing answers", Try: "start docker"}
	err := errors.Join(errors.New("boom"), fmt.Errorf("stop kind cluster: %w", &ground.LeftError{Err: stopped}))
	got := report.Of(ExplainRun(err, "lab", ""))
	want := report.Record{
		Code: "left-behind", Message: `sandbox "lab": not everything could be removed`, Why: "boom\nstop kind cluster: docker is installed, but nothing answers",
		Try: "start docker\nvsphere-sandbox down --name lab   # takes away what is left", Exit: report.Failure,
	}
	if got != want {
		t.Errorf("got  %+v\nwant %+v", got, want)
	}
	there := &coded.Error{Code: existing.CodeLeft, Message: "not everything is gone", Try: "vsphere-sandbox down --name lab"}
	if got := report.Of(ExplainRun(&ground.LeftError{Err: there}, "lab", "")); got.Code != "left-behind" || got.Try != there.Try {
		t.Errorf("of a cluster that was there: %+v", got)
	}
}

// What a cluster that was there says is what the command ends with.
func TestClusterThere(t *testing.T) {
	err := fmt.Errorf("cluster: %w", &coded.Error{Code: existing.CodeRights, Message: "no rights", Try: "--context NAME"})
	want := report.Record{Code: existing.CodeRights, Message: "no rights", Try: "--context NAME", Exit: report.Prerequisite}
	if got := report.Of(ExplainRun(err, "lab", "")); got != want {
		t.Errorf("got  %+v\nwant %+v", got, want)
	}
}
