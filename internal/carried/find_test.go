package carried

import (
	"bytes"
	"compress/gzip"
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
)

const (
	program = "csi-sidecars"
	env     = "VSPHERE_SANDBOX_SIDECARS"
)

// put writes a file that can be run.
func put(t *testing.T, dir, name, text string) string {
	t.Helper()
	file := filepath.Join(dir, name)
	if err := os.WriteFile(file, []byte(text), 0o700); err != nil {
		t.Fatal(err)
	}
	return file
}

func packed(t *testing.T, text string) []byte {
	t.Helper()
	var b bytes.Buffer
	w := gzip.NewWriter(&b)
	if _, err := w.Write([]byte(text)); err != nil {
		t.Fatal(err)
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

// What is named counts more than what is carried, and that more than what lies beside.
func TestOrder(t *testing.T) {
	dir, cache := t.TempDir(), t.TempDir()
	s := search{
		named: put(t, dir, "other", "named"), self: filepath.Join(dir, "vsphere-sandbox"), Program: Program{Name: program, Env: env, Archive: packed(t, "carried")},
		cache: func() (string, error) { return cache, nil },
	}
	put(t, dir, program, "beside")
	for _, want := range []string{"named", "carried", "beside"} {
		file, err := s.find(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		if got, err := os.ReadFile(file); err != nil || string(got) != want {
			t.Errorf("got %q, %v, want %q", got, err, want)
		}
		if s.named != "" {
			s.named = ""
		} else {
			s.Archive = nil
		}
	}
}

// A link to the program, as in /usr/local/bin, leads to what lies beside the program.
func TestLink(t *testing.T) {
	dir, bin := t.TempDir(), t.TempDir()
	want := put(t, dir, program, "")
	self := filepath.Join(bin, "vsphere-sandbox")
	if err := os.Symlink(put(t, dir, "vsphere-sandbox", ""), self); err != nil {
		t.Fatal(err)
	}
	got, err := search{Program: Program{Name: program, Env: env}, self: self}.find(t.Context())
	if err != nil || filepath.Base(filepath.Dir(got)) != filepath.Base(filepath.Dir(want)) {
		t.Errorf("got %s, %v, want %s", got, err, want)
	}
}

// Where there is nothing, it is said where it should be and what to do.
func TestNotFound(t *testing.T) {
	dir := t.TempDir()
	_, err := search{Program: Program{Name: program, Env: env}, self: filepath.Join(dir, "vsphere-sandbox")}.find(t.Context())
	var missing *NotFoundError
	if !errors.As(err, &missing) || !strings.Contains(err.Error(), filepath.Join(dir, program)) || !strings.Contains(missing.Try(), "make build") {
		t.Errorf("got %v", err)
	}
	if _, err := (search{Program: Program{Name: program, Env: env}, named: dir}).find(t.Context()); err == nil || !strings.Contains(err.Error(), env+"="+dir) {
		t.Errorf("a folder: got %v", err)
	}
	file := put(t, dir, program, "")
	if err := os.Chmod(file, 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := (search{Program: Program{Name: program, Env: env}, self: file}).find(t.Context()); err == nil || !strings.Contains(err.Error(), "not executable") {
		t.Errorf("not executable: got %v", err)
	}
}

// Without a cache folder that can be written the program goes beside the sandboxes; where there is no place, it is said what
// names one.
func TestPlaces(t *testing.T) {
	blocked := put(t, t.TempDir(), "file", "in the way of a folder")
	none := func() (string, error) { return "", errors.New("no home") }
	for name, test := range map[string]struct {
		cache func() (string, error)
		state string
		where string // "" for nowhere
	}{
		"no home":             {none, "state", ".sidecars"},
		"home not writable":   {func() (string, error) { return blocked, nil }, "state", ".sidecars"},
		"no home, no state":   {none, "", ""},
		"neither is writable": {func() (string, error) { return blocked, nil }, blocked, ""},
	} {
		t.Run(name, func(t *testing.T) {
			if test.state == "state" {
				test.state = t.TempDir()
			}
			file, err := search{Program: Program{Name: program, Folder: "sidecars", Archive: packed(t, "program")}, cache: test.cache, state: test.state}.find(t.Context())
			if test.where != "" {
				if err != nil || !strings.HasPrefix(file, filepath.Join(test.state, test.where)+"/") {
					t.Errorf("at %s, %v", file, err)
				}
				return
			}
			var full *NoRoomError
			if !errors.As(err, &full) || !strings.Contains(full.Try(), StateEnv) {
				t.Errorf("at %s, %v", file, err)
			}
		})
	}
}

// An unpacked program is used again as long as it is complete, and no other user can change it.
func TestUnpack(t *testing.T) {
	cache, archive := filepath.Join(t.TempDir(), "cache"), packed(t, "program")
	file, err := Program{Name: program, Archive: archive}.unpack(t.Context(), cache)
	if err != nil {
		t.Fatal(err)
	}
	first, err := os.Stat(file)
	if err != nil {
		t.Fatal(err)
	}
	dir, err := os.Stat(filepath.Dir(file))
	if err != nil || dir.Mode().Perm() != 0o700 || first.Mode().Perm() != 0o700 {
		t.Errorf("modes are %v and %v, %v", dir.Mode(), first.Mode(), err)
	}
	if _, err := (Program{Name: program, Archive: archive}).unpack(t.Context(), cache); err != nil {
		t.Fatal(err)
	}
	if again, err := os.Stat(file); err != nil || !os.SameFile(first, again) {
		t.Errorf("it was made again: %v", err)
	}
	for _, broken := range []string{"", "progra", "prograM", "program!"} {
		if err := os.WriteFile(file, []byte(broken), 0o700); err != nil {
			t.Fatal(err)
		}
		if _, err := (Program{Name: program, Archive: archive}).unpack(t.Context(), cache); err != nil {
			t.Fatal(err)
		}
		if got, err := os.ReadFile(file); err != nil || string(got) != "program" {
			t.Errorf("after %q: %q, %v", broken, got, err)
		}
	}
	left, err := os.ReadDir(filepath.Dir(file))
	if err != nil || len(left) != 1 {
		t.Errorf("left behind: %v, %v", left, err)
	}
}

// Several at once get the same, whole file.
func TestUnpackAtOnce(t *testing.T) {
	cache, archive := t.TempDir(), packed(t, strings.Repeat("program", 1<<16))
	var all sync.WaitGroup
	for range 8 {
		all.Go(func() {
			file, err := Program{Name: program, Archive: archive}.unpack(t.Context(), cache)
			if err != nil || !same(t.Context(), file, archive) {
				t.Errorf("%s: %v", file, err)
			}
		})
	}
	all.Wait()
}

// An archive that is no archive, and a context that has ended, leave nothing behind.
func TestUnpackFails(t *testing.T) {
	over, cancel := context.WithCancel(t.Context())
	cancel()
	for _, test := range []struct {
		ctx     context.Context
		archive []byte
	}{
		{t.Context(), []byte("no archive at all")},
		{t.Context(), packed(t, "program")[:20]},
		{over, packed(t, "program")},
	} {
		cache := t.TempDir()
		if file, err := (Program{Name: program, Archive: test.archive}).unpack(test.ctx, cache); err == nil {
			t.Errorf("%q unpacks to %s", test.archive, file)
		}
		if left, err := filepath.Glob(cache + "/*/*"); err != nil || len(left) != 0 {
			t.Errorf("left behind: %v, %v", left, err)
		}
	}
}

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
