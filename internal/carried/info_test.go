package carried

import (
	"bytes"
	"compress/gzip"
	"errors"
	"os"
	"path/filepath"
	"testing"
)

// This test's own binary stands in for the program: what it is made of can be read wherever it is, and nothing is unpacked.
func TestInfo(t *testing.T) {
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	content, err := os.ReadFile(self)
	if err != nil {
		t.Fatal(err)
	}
	var small bytes.Buffer
	w, err := gzip.NewWriterLevel(&small, gzip.BestSpeed)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := w.Write(content); err != nil {
		t.Fatal(err)
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	beside := t.TempDir()
	put(t, beside, program, string(content))
	for name, test := range map[string]struct {
		search
		from string
	}{
		"named":   {search{Program: Program{Name: program, Archive: []byte("not looked at")}, named: self}, self},
		"carried": {search{Program: Program{Name: program, Archive: small.Bytes()}}, "carried"},
		"beside":  {search{Program: Program{Name: program, Env: env}, self: filepath.Join(beside, "vsphere-sandbox")}, filepath.Join(beside, program)},
	} {
		t.Run(name, func(t *testing.T) {
			info, from, err := test.info(t.Context())
			if err != nil {
				t.Fatal(err)
			}
			if from != test.from || info.GoVersion == "" {
				t.Errorf("from %q, made by %q", from, info.GoVersion)
			}
		})
	}
}

func TestInfoOfNothing(t *testing.T) {
	_, _, err := search{Program: Program{Name: program, Env: env}, self: filepath.Join(t.TempDir(), "vsphere-sandbox")}.info(t.Context())
	if missing := (*NotFoundError)(nil); !errors.As(err, &missing) {
		t.Errorf("without a program: %v", err)
	}
	for name, archive := range map[string][]byte{"no gzip": []byte("x"), "no program": packed(t, "#!/bin/sh")} {
		if _, _, err := (search{Program: Program{Name: program, Archive: archive}}).info(t.Context()); err == nil {
			t.Errorf("%s: no error", name)
		}
	}
}
