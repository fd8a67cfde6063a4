package api

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/vsphere-sandbox/vsphere-sandbox/internal/secret"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/sim/fault"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/sim/fault/faulttest"
)

// A password that a user chose stands nowhere in the journal, and neither does the one in its place; another process heals
// the fault from the journal all the same, after the first was killed.
func TestRotatedPasswordInJournal(t *testing.T) {
	w := faulttest.Start(t, source)
	v, _ := w.VCenter("us")
	const chosen = "MyRealPassword1"
	if err := v.SetPassword(chosen); err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	path := filepath.Join(dir, "leases.jsonl")
	process := func() *fault.Engine {
		t.Helper()
		journal, err := fault.OpenJournal(path)
		if err != nil {
			t.Fatal(err)
		}
		sealer, err := secret.Open(dir)
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _, _ = journal.Close(), sealer.Close() })
		return fault.NewEngine(fault.Options{Ground: w.Ground, Kinds: Kinds(), Journal: journal, Sealer: sealer})
	}
	if _, err := process().Inject(t.Context(), fault.Request{Kind: "vcenter.password-rotated", On: faulttest.On("us")}); err != nil {
		t.Fatal(err)
	}
	rotated := v.Password()
	text, err := os.ReadFile(path)
	if err != nil || rotated == chosen || !strings.Contains(string(text), "vcenter.password-rotated") {
		t.Fatalf("%v, password %q, journal %s", err, rotated, text)
	}
	for _, password := range []string{chosen, rotated} {
		if strings.Contains(string(text), password) {
			t.Errorf("%q stands in the journal: %s", password, text)
		}
	}

	next := process() // the first is gone, and has closed nothing
	records, err := fault.ReadJournal(path)
	if err != nil || len(records) != 1 {
		t.Fatalf("%+v, %v", records, err)
	}
	if err := next.Adopt(records); err != nil {
		t.Fatal(err)
	}
	if err := next.Close(t.Context()); err != nil {
		t.Fatal(err)
	}
	if v.Password() != chosen {
		t.Errorf("healed, the password is %q", v.Password())
	}
}
