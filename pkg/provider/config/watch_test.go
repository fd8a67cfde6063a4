package config

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"
)

func write(t *testing.T, dir string, pairs ...string) {
	t.Helper()
	for i := 0; i < len(pairs); i += 2 {
		if err := os.WriteFile(filepath.Join(dir, pairs[i]), []byte(pairs[i+1]), 0o600); err != nil {
			t.Fatal(err)
		}
	}
}

// heard collects the changes since the last look. The bubble's clock does not synchronize goroutines, so it has a lock.
type heard struct {
	mu  sync.Mutex
	all []string
}

func (h *heard) add(text string) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.all = append(h.all, text)
}

func (h *heard) take() string {
	h.mu.Lock()
	defer h.mu.Unlock()
	text := strings.Join(h.all, ", ")
	h.all = nil
	return text
}

// A directory as mounted by a kubelet is swapped as a whole, twice; it disappears and returns.
func TestDirectory(t *testing.T) {
	dir := t.TempDir()
	swap := func(version string, pairs ...string) {
		t.Helper()
		if err := os.Mkdir(filepath.Join(dir, version), 0o700); err != nil {
			t.Fatal(err)
		}
		write(t, filepath.Join(dir, version), pairs...)
		for i := 0; i < len(pairs); i += 2 {
			if err := os.Symlink(filepath.Join("..data", pairs[i]), filepath.Join(dir, pairs[i])); err != nil && !errors.Is(err, os.ErrExist) {
				t.Fatal(err)
			}
		}
		if err := errors.Join(os.Symlink(version, filepath.Join(dir, "..new")), os.Rename(filepath.Join(dir, "..new"), filepath.Join(dir, "..data"))); err != nil {
			t.Fatal(err)
		}
	}
	swap("..1", "vc.username", "u", "vc.password", "p1")
	synctest.Test(t, func(t *testing.T) {
		var reported heard
		d := NewDirectory(dir, time.Second, func(err error) {
			if err != nil {
				reported.add(err.Error())
				return
			}
			c, err := d(t, dir)
			reported.add(c.Password)
			if err != nil {
				t.Error(err)
			}
		})
		ctx, cancel := context.WithCancel(t.Context())
		ended := make(chan struct{})
		go func() { d.Run(ctx); close(ended) }()
		expect := func(want ...string) {
			t.Helper()
			time.Sleep(1500 * time.Millisecond) // of the bubble's clock
			synctest.Wait()
			if got := reported.take(); got != strings.Join(want, ", ") {
				t.Errorf("told %q, want %q", got, want)
			}
		}
		expect()
		swap("..2", "vc.username", "u", "vc.password", "p2", "more", "x")
		expect("p2")
		expect()
		swap("..3", "vc.username", "u", "vc.password", "p2", "more", "x") // the same again
		expect()
		away := dir + ".away"
		if err := os.Rename(dir, away); err != nil {
			t.Fatal(err)
		}
		expect("secrets directory: open " + dir + ": no such file or directory")
		if _, err := d.Credentials("vc"); !errors.Is(err, os.ErrNotExist) {
			t.Error(err)
		}
		expect()
		if err := os.Rename(away, dir); err != nil {
			t.Fatal(err)
		}
		expect("p2")
		if _, err := d.Credentials("other"); !errors.Is(err, ErrNoCredentials) || !strings.Contains(err.Error(), dir) {
			t.Error(err)
		}
		cancel()
		<-ended
	})
}

func d(t *testing.T, dir string) (Credentials, error) {
	t.Helper()
	s, err := ReadSecretsDirectory(dir)
	if err != nil {
		return Credentials{}, err
	}
	return s.For("VC")
}

// Entries that are not files or not readable are skipped.
func TestSecretFiles(t *testing.T) {
	dir := t.TempDir()
	write(t, dir, "vc.username", "u\n", "vc.password", "p\n", "large", strings.Repeat("x", MaxSize+1))
	if err := errors.Join(os.Mkdir(filepath.Join(dir, "a.username"), 0o700), os.Symlink("nowhere", filepath.Join(dir, "b.username"))); err != nil {
		t.Fatal(err)
	}
	s, err := ReadSecretsDirectory(dir)
	if err != nil {
		t.Fatal(err)
	}
	if c, err := s.For("vc"); err != nil || c != (Credentials{User: "u", Password: "p"}) {
		t.Errorf("%+v, %v", c, err)
	}
	if got := s.Problems(); len(got) != 2 || got[0].Path != "b.username" || got[1].Path != "large" {
		t.Errorf("%v", got)
	}
	if _, err := ReadSecretsDirectory(filepath.Join(dir, "nosuch")); !errors.Is(err, os.ErrNotExist) {
		t.Error(err)
	}
}

func TestFile(t *testing.T) {
	name := filepath.Join(t.TempDir(), "vsphere.conf")
	put := func(text string) {
		t.Helper()
		if err := errors.Join(os.WriteFile(name+".next", []byte(text), 0o600), os.Rename(name+".next", name)); err != nil {
			t.Fatal(err)
		}
	}
	put("global: {server: a, user: u, password: p}")
	synctest.Test(t, func(t *testing.T) {
		var reported heard
		f := NewFile(name, 0, func(cfg *Config, err error) {
			if err != nil {
				reported.add(err.Error())
				return
			}
			reported.add(cfg.VCenters[0].Server + " " + cfg.VCenters[0].User)
		}, WithEnvironment([]string{"VSPHERE_USER=env"}))
		put("global: {server: b, user: u, password: p}") // between New and Run
		ctx, cancel := context.WithCancel(t.Context())
		ended := make(chan struct{})
		go func() { f.Run(ctx); close(ended) }()
		expect := func(want string) {
			t.Helper()
			time.Sleep(defaultPeriod + time.Millisecond) // of the bubble's clock
			synctest.Wait()
			if got := reported.take(); got != want {
				t.Errorf("told %q, want %q", got, want)
			}
		}
		expect("b env")
		put("global: {server: c, usr: u, password: p}")
		expect(name + ":1: global.usr: unknown key, did you mean user?")
		expect("")
		put("[Global]\nserver = c\nuser = u\npassword = p\n")
		expect("c env")
		if cfg, err := f.Load(); err != nil || cfg.Format != INI {
			t.Error(err)
		}
		cancel()
		<-ended
	})
}
