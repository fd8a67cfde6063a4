package main

import (
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
)

// suite is Debian's release.
const suite = "bookworm"

// packages are what a node needs of Debian besides the smallest system.
const packages = "systemd,iptables,nftables,iproute2,conntrack,ethtool,mount,util-linux,kmod,procps,libseccomp2,runc,hostname,jq,e2fsprogs"

// debian fetches and unpacks Debian's packages, unless it has been done.
func (b *build) debian(ctx context.Context) error {
	dir := b.debianDir()
	if _, err := os.Stat(dir); err == nil && !b.debianAgain {
		return nil
	}
	fresh := dir + ".new"
	if err := errors.Join(remove(fresh), remove(dir)); err != nil {
		return err
	}
	if err := command(ctx, "", nil, "debootstrap", "--variant=minbase", "--include="+packages, suite, fresh, b.mirror); err != nil {
		if ctx.Err() != nil {
			return err
		}
		return fmt.Errorf("%w\nis %s reachable? -mirror takes another one", err, b.mirror)
	}
	return os.Rename(fresh, dir)
}

// debianDir is where they are kept: another list is another folder.
func (b *build) debianDir() string {
	return b.path(fmt.Sprintf("debian-%s-%.6x", suite, sha256.Sum256([]byte(packages))))
}

// prune takes from the node's files what no node needs: lists, texts, languages, and every unit that systemd would start
// of itself but the journal and the kernel's settings.
func prune(root string) error {
	for _, path := range []string{
		"var/lib/apt/lists", "var/cache/apt", "var/cache/debconf", "var/lib/dpkg/info", "var/log", "usr/share/doc", "usr/share/man",
		"usr/share/info", "usr/share/locale", "usr/share/i18n", "usr/share/zoneinfo", "usr/lib/x86_64-linux-gnu/gconv",
	} {
		if err := os.RemoveAll(filepath.Join(root, path)); err != nil {
			return err
		}
	}
	for _, path := range []string{"var/log", "tmp"} {
		if err := os.MkdirAll(filepath.Join(root, path), 0o755); err != nil {
			return err
		}
	}
	for _, units := range []string{"etc/systemd/system", "usr/lib/systemd/system"} {
		err := filepath.WalkDir(filepath.Join(root, units), func(path string, entry fs.DirEntry, err error) error {
			if err != nil || entry.IsDir() || !strings.HasSuffix(filepath.Dir(path), ".wants") {
				return err
			}
			if name := entry.Name(); strings.Contains(name, "journald") || name == "systemd-sysctl.service" {
				return nil
			}
			return os.Remove(path)
		})
		if err != nil {
			return err
		}
	}
	return nil
}
