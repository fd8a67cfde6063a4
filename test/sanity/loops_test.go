package sanity

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/csi/names"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/csi/volume/volumetest"
)

// loops makes disks of sparse files and loop devices.
type loops struct{ disks, byID string }

func (l loops) file(volume string) string     { return filepath.Join(l.disks, volume) }
func (l loops) link(d volumetest.Disk) string { return filepath.Join(l.byID, names.DeviceLink(d.UUID)) }

func (l loops) attach(d volumetest.Disk) error {
	f, err := os.OpenFile(l.file(d.Volume), os.O_CREATE|os.O_RDWR, 0o600)
	if err != nil {
		return err
	}
	if err := f.Truncate(d.Capacity); err != nil {
		return err
	}
	if err := f.Close(); err != nil {
		return err
	}
	dev, err := losetup("--find", "--show", l.file(d.Volume))
	if err != nil {
		return err
	}
	return os.Symlink(dev, l.link(d))
}

func (l loops) detach(d volumetest.Disk) error {
	dev, err := os.Readlink(l.link(d))
	if err != nil {
		return err
	}
	if err := os.Remove(l.link(d)); err != nil {
		return err
	}
	_, err = losetup("--detach", dev)
	return err
}

func (l loops) expand(d volumetest.Disk) error {
	if err := os.Truncate(l.file(d.Volume), d.Capacity); err != nil {
		return err
	}
	dev, err := os.Readlink(l.link(d))
	if err != nil {
		return err
	}
	_, err = losetup("--set-capacity", dev)
	return err
}

func (l loops) remove(volume string) error {
	if err := os.Remove(l.file(volume)); err != nil && !os.IsNotExist(err) {
		return err
	}
	return nil
}

// clear gives back the devices that a failed test has left.
func (l loops) clear(t *testing.T) {
	links, err := os.ReadDir(l.byID)
	if err != nil {
		t.Error(err)
	}
	for _, e := range links {
		dev, err := os.Readlink(filepath.Join(l.byID, e.Name()))
		if err == nil {
			_, err = losetup("--detach", dev)
		}
		t.Errorf("%s was left: %v", e.Name(), err)
	}
}

func losetup(args ...string) (string, error) {
	out, err := exec.Command("losetup", args...).CombinedOutput()
	if err != nil {
		return "", fmt.Errorf("losetup %s: %w: %s", strings.Join(args, " "), err, out)
	}
	return strings.TrimSpace(string(out)), nil
}
