package topology_test

import (
	"errors"
	"os"
	"path/filepath"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/topology"
)

// FuzzLoad: Load returns a topology that survives encoding and decoding, or errors with positions.
func FuzzLoad(f *testing.F) {
	seeds, err := filepath.Glob("testdata/*.yaml")
	if err != nil {
		f.Fatal(err)
	}
	for _, seed := range seeds {
		data, err := os.ReadFile(seed)
		if err != nil {
			f.Fatal(err)
		}
		f.Add(data)
	}
	f.Fuzz(func(t *testing.T, data []byte) { checkLoad(t, data) })
}

// checkLoad loads the file and checks that it ends well either way. It reports whether it was a topology.
func checkLoad(t *testing.T, data []byte) bool {
	t.Helper()
	resolved, err := topology.Load("fuzz.yaml", data)
	if err != nil {
		var all topology.Errors
		if resolved != nil || !errors.As(err, &all) || len(all) == 0 || all.Error() == "" {
			t.Fatalf("a topology (%v) or no errors (%T)", resolved, err)
		}
		for _, one := range all {
			if one.Line < 1 || one.Column < 1 || one.Message == "" {
				t.Fatalf("an error without position or message: %+v", one)
			}
		}
		return false
	}
	if resolved.Count().VMs > 1000 {
		return true // the rest would only be slow
	}
	text, err := topology.Marshal(resolved)
	if err != nil {
		t.Fatal(err)
	}
	again, err := topology.Load("again.yaml", text)
	if err != nil {
		t.Fatalf("%v\n%s\nmade of\n%s", err, text, data)
	}
	if diff := cmp.Diff(resolved, again); diff != "" {
		t.Fatalf("round trip:\n%s\nof\n%s", diff, data)
	}
	for ref := range resolved.AllVMs() {
		resolved.Place(ref)
	}
	return true
}
