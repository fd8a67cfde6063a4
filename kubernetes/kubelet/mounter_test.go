package kubelet

import (
	"os"
	"path/filepath"
	"testing"

	"k8s.io/mount-utils"
)

// A published volume is a mount point for as long as its link is there, even when the disk is gone.
func TestMounter(t *testing.T) {
	dir := t.TempDir()
	byID := filepath.Join(dir, "by-id")
	m := mounter{&mount.FakeMounter{}, byID + "/"}
	path := func(name, target string) string {
		p := filepath.Join(dir, name)
		var err error
		if target == "" {
			err = os.Mkdir(p, 0o700)
		} else {
			err = os.Symlink(target, p)
		}
		if err != nil {
			t.Fatal(err)
		}
		return p
	}
	for name, c := range map[string]struct {
		path string
		want bool
	}{
		"published":      {path("volume", filepath.Join(byID, "wwn-0x1", "data")), true},
		"directory":      {path("dir", ""), false},
		"another's link": {path("link", dir), false},
	} {
		if is, err := m.IsMountPoint(c.path); is != c.want || err != nil {
			t.Errorf("%s: %t %v", name, is, err)
		}
		if not, err := m.IsLikelyNotMountPoint(c.path); not == c.want || err != nil {
			t.Errorf("%s: not %t %v", name, not, err)
		}
	}
	if _, err := m.IsMountPoint(filepath.Join(dir, "none")); !os.IsNotExist(err) {
		t.Errorf("of nothing: %v", err)
	}
}
