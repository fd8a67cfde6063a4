package secret_test

import (
	"bytes"
	"encoding/base64"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/vsphere-sandbox/vsphere-sandbox/internal/secret"
)

func open(t *testing.T, dir string) *secret.Store {
	t.Helper()
	s, err := secret.Open(dir)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = s.Close() })
	return s
}

func know(t *testing.T, s *secret.Store, values ...string) {
	t.Helper()
	if err := s.Add(values...); err != nil {
		t.Fatal(err)
	}
}

// What one process has known, a later one and a reader know, and no file has it in clear.
func TestStore(t *testing.T) {
	dir := t.TempDir()
	s := open(t, dir)
	know(t, s, "hunter2", "line\nof\x00two", "")
	know(t, s, "hunter2", "third")
	want := []string{"hunter2", "line\nof\x00two", "third"}
	if got := s.Values(); !slices.Equal(got, want) {
		t.Errorf("%q", got)
	}
	if got, err := secret.Read(dir); err != nil || !slices.Equal(got, want) { // beside the one that writes
		t.Errorf("%q, %v", got, err)
	}
	sealed, err := s.Seal([]byte("state"))
	if err != nil {
		t.Fatal(err)
	}
	if again, _ := s.Seal([]byte("state")); again == sealed {
		t.Error("sealed twice, the texts are the same")
	}
	for _, name := range []string{secret.KeyFile, secret.File} {
		info, err := os.Stat(filepath.Join(dir, name))
		if err != nil || info.Mode().Perm() != 0o600 {
			t.Errorf("%s: %v, %v", name, info, err)
		}
		text, _ := os.ReadFile(filepath.Join(dir, name))
		for _, v := range want {
			if bytes.Contains(text, []byte(v)) || bytes.Contains(text, []byte(base64.RawStdEncoding.EncodeToString([]byte(v)))) {
				t.Errorf("%s has %q in clear", name, v)
			}
		}
	}

	// A crash in the middle of a line, and the next process.
	path := filepath.Join(dir, secret.File)
	whole, _ := os.ReadFile(path)
	if err := os.WriteFile(path, append(whole, "c3R1"...), 0o600); err != nil {
		t.Fatal(err)
	}
	if got, err := secret.Read(dir); err != nil || !slices.Equal(got, want) {
		t.Errorf("cut: %q, %v", got, err)
	}
	next := open(t, dir)
	know(t, next, "fourth")
	if got, err := secret.Read(dir); err != nil || !slices.Equal(got, append(want, "fourth")) {
		t.Errorf("after a crash: %q, %v", got, err)
	}
	if plain, err := next.Unseal(sealed); err != nil || string(plain) != "state" {
		t.Errorf("unsealed %q, %v", plain, err)
	}
	if entries, _ := os.ReadDir(dir); len(entries) != 2 {
		t.Errorf("left: %v", entries)
	}
}

func TestNotSealedHere(t *testing.T) {
	dir := t.TempDir()
	s, stranger := open(t, dir), open(t, t.TempDir())
	know(t, s, "value")
	foreign, _ := stranger.Seal([]byte("x"))
	line, _ := os.ReadFile(filepath.Join(dir, secret.File))
	for _, text := range []string{"", "nonsense!", foreign, string(bytes.TrimSpace(line))} {
		if plain, err := s.Unseal(text); !errors.Is(err, secret.ErrSealed) {
			t.Errorf("%q: %q, %v", text, plain, err)
		}
	}
	if err := os.WriteFile(filepath.Join(dir, secret.File), []byte(foreign+"\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := secret.Read(dir); !errors.Is(err, secret.ErrSealed) {
		t.Errorf("a file of another key: %v", err)
	}
}

func TestNoStore(t *testing.T) {
	if got, err := secret.Read(t.TempDir()); err != nil || got != nil {
		t.Errorf("an empty directory: %q, %v", got, err)
	}
	dir := t.TempDir()
	if err := os.Symlink("/etc/hostname", filepath.Join(dir, secret.KeyFile)); err != nil {
		t.Fatal(err)
	}
	if _, err := secret.Read(dir); err == nil {
		t.Error("a link was followed")
	}
	if _, err := secret.Open(dir); err == nil {
		t.Error("a link was followed, and replaced")
	}
	var none *secret.Store
	if err := errors.Join(none.Add("x"), none.Close()); err != nil || none.Values() != nil {
		t.Errorf("no store: %v", err)
	}
	if _, err := none.Seal([]byte("x")); err == nil {
		t.Error("sealed without a key")
	}
	s := open(t, t.TempDir())
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	if err := s.Add("x"); !errors.Is(err, os.ErrClosed) {
		t.Errorf("closed: %v", err)
	}
}

func TestSplit(t *testing.T) {
	open, secrets := secret.Split([]string{
		"PATH=/bin", "GOVC_PASSWORD=a", "GOVC_PASSWORD=", "GOVC_URL=vc.local", "GOVC_URL=root:b@vc.local/sdk", "GOVC_URL=https://u:c%20d@vc/sdk",
		"VSPHERE_SANDBOX_PASSWORD=e=f", "VSPHERE_SANDBOX_SECRETS_FD=9", "GOVC_USERNAME=root",
	})
	if want := []string{"PATH=/bin", "GOVC_PASSWORD=", "GOVC_URL=vc.local", "GOVC_USERNAME=root"}; !slices.Equal(open, want) {
		t.Errorf("open: %q", open)
	}
	if want := []string{"GOVC_PASSWORD=a", "GOVC_URL=root:b@vc.local/sdk", "GOVC_URL=https://u:c%20d@vc/sdk", "VSPHERE_SANDBOX_PASSWORD=e=f"}; !slices.Equal(secrets, want) {
		t.Errorf("secrets: %q", secrets)
	}
	got := secret.Variables(func(name string) string {
		return map[string]string{"GOVC_PASSWORD": "a", "GOVC_URL": "https://u:c%20d@vc/sdk", "PATH": "/bin"}[name]
	})
	if !slices.Equal(got, []string{"a", "c d"}) {
		t.Errorf("variables: %q", got)
	}
}

// A process finds what was handed to it, and its environment does not have it.
func TestHand(t *testing.T) {
	if os.Getenv("SECRET_TEST_CHILD") != "" {
		err := secret.Inherit()
		environ, _ := os.ReadFile("/proc/self/environ")
		if err != nil || os.Getenv("GOVC_PASSWORD") != "hunter2" || os.Getenv("VSPHERE_SANDBOX_SECRETS_FD") != "" || strings.Contains(string(environ), "hunter2") {
			t.Fatalf("%v; GOVC_PASSWORD=%q; environ %q", err, os.Getenv("GOVC_PASSWORD"), environ)
		}
		return
	}
	f, variable, err := secret.Hand([]string{"GOVC_PASSWORD=hunter2"}, 3)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	cmd := exec.CommandContext(t.Context(), os.Args[0], "-test.run=^TestHand$")
	cmd.Env, cmd.ExtraFiles = []string{"SECRET_TEST_CHILD=1", variable}, []*os.File{f}
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Errorf("%v: %s", err, out)
	}
	if _, _, err := secret.Hand([]string{strings.Repeat("x", 1<<17)}, 3); err == nil {
		t.Error("more than a pipe takes was handed over")
	}
	if err := secret.Inherit(); err != nil {
		t.Errorf("nothing was handed over: %v", err)
	}
}
