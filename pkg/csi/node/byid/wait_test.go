package byid_test

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/csi/names"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/csi/node/byid"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/csi/volume"
)

const uuid = "6000C29f-1234-5678-9abc-def012345678"

// long is a timeout that no test reaches.
const long = 30 * time.Second

func link(t *testing.T, dir, target string) {
	t.Helper()
	if err := os.MkdirAll(dir, 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink(target, filepath.Join(dir, names.DeviceLink(uuid))); err != nil {
		t.Fatal(err)
	}
}

func TestThere(t *testing.T) {
	dir := t.TempDir()
	link(t, dir, t.TempDir())
	for _, u := range []string{uuid, names.Compact(uuid)} {
		got, err := byid.Wait(t.Context(), dir, u, 0)
		if want := filepath.Join(dir, "wwn-0x6000c29f123456789abcdef012345678"); got != want || err != nil {
			t.Errorf("%q %v, want %q", got, err, want)
		}
	}
}

func TestLate(t *testing.T) {
	for name, come := range map[string]func(t *testing.T, dir, target string){
		"link": func(t *testing.T, dir, target string) {
			if err := os.Mkdir(target, 0o700); err != nil {
				t.Error(err)
			}
			link(t, dir, target)
		},
		"folder and link": func(t *testing.T, dir, target string) {
			if err := errors.Join(os.Mkdir(target, 0o700), os.RemoveAll(dir)); err != nil {
				t.Error(err)
			}
			link(t, dir, target)
		},
		"what it leads to": func(t *testing.T, dir, target string) {
			link(t, dir, target)
			time.Sleep(10 * time.Millisecond)
			if err := os.Mkdir(target, 0o700); err != nil {
				t.Error(err)
			}
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			dir, target := t.TempDir(), filepath.Join(t.TempDir(), "disk")
			go func() {
				time.Sleep(20 * time.Millisecond)
				come(t, dir, target)
			}()
			if _, err := byid.Wait(t.Context(), dir, uuid, long); err != nil {
				t.Error(err)
			}
		})
	}
}

func TestNever(t *testing.T) {
	if _, err := byid.Wait(t.Context(), t.TempDir(), uuid, 10*time.Millisecond); !errors.Is(err, volume.ErrNotFound) {
		t.Error(err)
	}
	if _, err := byid.Wait(t.Context(), filepath.Join(t.TempDir(), "none"), uuid, 10*time.Millisecond); !errors.Is(err, volume.ErrNotFound) {
		t.Error(err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), 10*time.Millisecond)
	defer cancel()
	if _, err := byid.Wait(ctx, t.TempDir(), uuid, long); !errors.Is(err, context.DeadlineExceeded) {
		t.Error(err)
	}
	for _, bad := range []string{"", "6000", "../../../etc/passwd"} {
		if _, err := byid.Wait(t.Context(), t.TempDir(), bad, long); !errors.Is(err, volume.ErrInvalid) {
			t.Errorf("%q: %v", bad, err)
		}
	}
}

func TestUntilFails(t *testing.T) {
	want := errors.New("cannot look")
	if err := byid.Until(t.Context(), t.TempDir(), long, func() (bool, error) { return false, want }); !errors.Is(err, want) {
		t.Error(err)
	}
}
