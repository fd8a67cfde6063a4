package leftovers

import (
	"errors"
	"os"
	"path/filepath"
	"testing"

	"github.com/vsphere-sandbox/vsphere-sandbox/internal/cli/report"
	"github.com/vsphere-sandbox/vsphere-sandbox/internal/private"
)

// A journal that another user planted makes this user's "down" write nothing to a vCenter: neither in a directory that both can
// write to, nor in one that was so once. Nor does a planted link.
func TestPlantedWrites(t *testing.T) {
	const line = `{"seq":1,"time":"2026-09-01T12:00:00Z","vcenter":"vc","ref":{"type":"VirtualMachine","value":"vm-1"},"vm":"/dc/vm/worker-1","do":{"kind":"power-on"},"undo":{"kind":"power-off"}}` + "\n"
	plant := func(root string) (journal, settings string) {
		journal, settings = filepath.Join(root, "lab.writes.jsonl"), filepath.Join(root, "lab.writes.json")
		if err := errors.Join(os.WriteFile(journal, []byte(line), 0o600), os.WriteFile(settings, []byte(`{"scope":{"AllowWrites":true}}`), 0o600)); err != nil {
			t.Fatal(err)
		}
		return journal, settings
	}
	shared := t.TempDir()
	plant(shared)
	if err := os.Chmod(shared, 0o777|os.ModeSticky); err != nil {
		t.Fatal(err)
	}
	linked := t.TempDir()
	_, settings := plant(linked)
	if err := errors.Join(os.Rename(settings, settings+".elsewhere"), os.Symlink(settings+".elsewhere", settings)); err != nil {
		t.Fatal(err)
	}
	roots := map[string]string{"in a shared directory": shared, "settings are a link": linked}
	if os.Geteuid() == 0 {
		once := t.TempDir()
		journal, _ := plant(once)
		if err := os.Chown(journal, 65534, -1); err != nil {
			t.Fatal(err)
		}
		roots["another user's"] = once
	}
	for name, root := range roots {
		t.Run(name, func(t *testing.T) {
			err := Writes(t.Context(), filepath.Join(root, "lab"), os.Getenv, func(text string) { t.Errorf("said %q", text) })
			if !errors.As(err, new(*private.Error)) {
				t.Fatalf("ended with %v", err)
			}
			if r := report.Of(err); r.Code != "state-untrusted" || r.Exit != report.Prerequisite || r.Try == "" {
				t.Errorf("reported as %+v", r)
			}
		})
	}
}
