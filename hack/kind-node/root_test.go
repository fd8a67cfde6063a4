package main

import (
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

func TestPrune(t *testing.T) {
	root := t.TempDir()
	const units = "usr/lib/systemd/system/"
	write(t, root, map[string]string{
		"usr/share/doc/systemd/README": "", "var/log/dpkg.log": "", "usr/sbin/nft": "",
		units + "getty.service":                                         "",
		units + "sysinit.target.wants/systemd-journald.service":         "",
		units + "sockets.target.wants/systemd-journald-dev-log.socket":  "",
		units + "sysinit.target.wants/systemd-sysctl.service":           "",
		units + "sysinit.target.wants/systemd-udevd.service":            "",
		"etc/systemd/system/getty.target.wants/getty@tty1.service":      "",
		"etc/systemd/system/multi-user.target.wants/e2scrub_reap.timer": "",
	})
	if err := prune(root); err != nil {
		t.Fatal(err)
	}
	var left []string
	err := filepath.WalkDir(root, func(path string, entry fs.DirEntry, err error) error {
		if err == nil && !entry.IsDir() {
			left = append(left, strings.TrimPrefix(path, root+"/"))
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	want := []string{
		units + "getty.service", units + "sockets.target.wants/systemd-journald-dev-log.socket",
		units + "sysinit.target.wants/systemd-journald.service", units + "sysinit.target.wants/systemd-sysctl.service", "usr/sbin/nft",
	}
	slices.Sort(left)
	slices.Sort(want)
	if !slices.Equal(left, want) {
		t.Errorf("left:\n%s\nwant:\n%s", strings.Join(left, "\n"), strings.Join(want, "\n"))
	}
	if _, err := os.Stat(filepath.Join(root, "var/log")); err != nil {
		t.Error(err)
	}
}

func TestInstallIgnoresUmask(t *testing.T) {
	dir := t.TempDir()
	for mode, want := range map[fs.FileMode]fs.FileMode{0o600: 0o644, 0o664: 0o644, 0o700: 0o755, 0o775: 0o755} {
		from, to := filepath.Join(dir, "from"), filepath.Join(dir, "a", "to")
		write(t, dir, map[string]string{"from": "x"})
		if err := os.Chmod(from, mode); err != nil {
			t.Fatal(err)
		}
		if err := install(from, to); err != nil {
			t.Fatal(err)
		}
		info, err := os.Stat(to)
		if err != nil {
			t.Fatal(err)
		}
		if info.Mode() != want {
			t.Errorf("a file of %v became %v, want %v", mode, info.Mode(), want)
		}
	}
}

// Shells find nothing wrong in the scripts: those of a node are first run when it boots.
func TestScripts(t *testing.T) {
	scripts, err := filepath.Glob("rootfs/kind/bin/*")
	if err != nil || len(scripts) == 0 {
		t.Fatalf("scripts %v, error %v", scripts, err)
	}
	for _, path := range append(scripts, "rootfs/usr/local/bin/entrypoint", "build", "dockerd", "try") {
		if out, err := exec.Command("sh", "-n", path).CombinedOutput(); err != nil {
			t.Errorf("%s: %v\n%s", path, err, out)
		}
		if info, err := os.Stat(path); err != nil {
			t.Error(err)
		} else if info.Mode()&0o111 == 0 {
			t.Errorf("%s cannot be run", path)
		}
	}
}
