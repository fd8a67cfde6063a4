package node

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/csi/disk"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/csi/names"
)

// Life decides what a VM's guest does: from the VM as the vCenter shows it, and from events of the guest that a vCenter
// does not show. All kinds of guests (a process, a container, a light node) carry out [Life.Next]. The zero value is the
// guest of a VM that does not exist. It is not safe for concurrent use.
type Life struct {
	VM VM
	// hung is set while the guest hangs although its VM runs.
	hung bool
	// died is set if the guest lost its power in the VM's present boot, independent of what the vCenter shows.
	died bool
}

// Next is the next action of a guest.
type Next struct {
	// End is set if the guest of the given boot must end: its power is lost.
	End bool
	// Start is set if a guest that does not run must boot.
	Start bool
	// State is the state of a guest that runs and need not end: Running, Paused or Hung.
	State Process
}

// Observe sets the VM's state. A guest that died stays dead until the VM has booted again, is off or is gone.
func (l *Life) Observe(vm VM) {
	if l.died && (lost(vm) || rebooted(l.VM.BootTime, vm.BootTime)) {
		l.died = false
	}
	if vm.BootTime.IsZero() && l.died {
		vm.BootTime = l.VM.BootTime // of the boot that died
	}
	l.VM = vm
}

// Die ends the guest as the loss of its host's power does.
func (l *Life) Die() { l.died = !lost(l.VM) }

// Hang makes a guest hang until Unhang, and reports whether it runs: only a running guest can hang.
func (l *Life) Hang(process Process) bool {
	if process != Running {
		return false
	}
	l.hung = true
	return true
}

// Unhang resumes a hung guest. The driver also calls it when a guest has ended: the next boot does not hang.
func (l *Life) Unhang() { l.hung = false }

// Next returns the next action. boot is the VM's boot time of the running guest; zero if none runs or it is unknown.
func (l *Life) Next(boot time.Time) Next {
	next := Next{
		End:   l.died || lost(l.VM) || rebooted(boot, l.VM.BootTime),
		Start: !l.died && l.VM.Exists && l.VM.Power == On && l.VM.GuestUp,
		State: Running,
	}
	switch {
	case l.VM.Power == Suspended:
		next.State = Paused
	case l.hung && !next.End:
		next.State = Hung
	}
	return next
}

// lost reports whether a VM has no power, so no guest.
func lost(vm VM) bool { return !vm.Exists || vm.Power == Off }

// rebooted reports whether a boot time is that of another boot. Without a connection to the host a vCenter may not know it.
func rebooted(was, is time.Time) bool { return !was.IsZero() && !is.IsZero() && !is.Equal(was) }

// Power is a VM's power state, as a vCenter has it.
type Power string

// The power states.
const (
	On        Power = "on"
	Off       Power = "off"
	Suspended Power = "suspended"
)

// VM is the state of a VM. The zero value is a VM that does not exist.
type VM struct {
	// Exists is false once the VM was destroyed or unregistered.
	Exists bool
	Power  Power
	// BootTime changes with each power-on and reset.
	BootTime time.Time
	// GuestUp is set if the guest has booted: its tools run and have reported its hostname.
	GuestUp  bool
	Hostname string
	// UUID is the BIOS UUID.
	UUID        string
	CPUs        int
	MemoryBytes uint64
	GuestID     string
	// Disks are the virtual disks of volumes, without the VM's own disks.
	Disks []Disk
	// HidesUUIDs is set if disk.EnableUUID is false: new disks get no links.
	HidesUUIDs bool
}

// Disk is a virtual disk of a volume.
type Disk struct {
	// UUID is that of its backing, which the guest sees.
	UUID string
	// VolumeID is the ID of the first class disk, which is the CSI volume's; of a disk of the in-tree provider that is
	// none yet, the path of its file.
	VolumeID string
	Bytes    int64
}

// LongestSocket is the longest path, below a kubelet's root directory, of a socket of its CSI node service. The whole
// path must fit into a unix socket's address.
const LongestSocket = "/plugins_registry/csi.vsphere.vmware.com-reg.sock"

// Links shows the disks of a VM to its guest: as links in a folder that replaces /dev/disk/by-id. A link exists as long
// as the VM has the disk, powered on or not.
type Links struct {
	// Dir is the folder; it is created and has only these links in it.
	Dir string
	// Shares is the target of the link [disk.SharesLink]; empty: no link.
	Shares string
	// Disk returns the directory of a volume's disk, or "" if it has none and gets no link. It is called from the node's
	// goroutine.
	Disk func(volumeID string) string
	// Failed is called once for each reason why the links could not be updated; that is retried. It is called from the node's
	// goroutine and must not call the Node. Optional.
	Failed func(error)
}

// ByID returns the folder in a node's directory that stands for the guest's /dev/disk/by-id.
func ByID(dir string) string { return filepath.Join(dir, "by-id") }

// prefix starts the name of every link: see names.DeviceLink.
const prefix = "wwn-0x"

// link reconciles the links with the VM's disks. It returns false if the caller must retry.
func (n *Node) link() bool {
	l := n.opts.Links
	if l == nil {
		return true
	}
	n.mu.Lock()
	m, withheld := n.life.VM, n.withheld
	n.mu.Unlock()
	err := l.follow(m, withheld)
	if err == nil {
		n.linking = ""
		return true
	}
	if err.Error() != n.linking { // report it once
		n.linking = err.Error()
		if l.Failed != nil {
			l.Failed(err)
		}
	}
	return false
}

// WithholdLinks creates no links for new disks any more, as in a VM without disk.EnableUUID, whose guest cannot identify
// disks; or ends that, and creates the missing ones. Existing links stay as long as their disks.
func (n *Node) WithholdLinks(withheld bool) { n.change(func() { n.withheld = withheld }) }

// follow creates the missing links, unless they are withheld, and removes those of detached disks.
func (l *Links) follow(m VM, withheld bool) error {
	want := map[string]string{}
	if m.Exists {
		for _, d := range m.Disks {
			if to := l.Disk(d.VolumeID); to != "" && d.UUID != "" {
				want[names.DeviceLink(d.UUID)] = to
			}
		}
	}
	is, err := os.ReadDir(l.Dir)
	if errors.Is(err, fs.ErrNotExist) {
		err = nil
	}
	for _, e := range is {
		path := filepath.Join(l.Dir, e.Name())
		if !strings.HasPrefix(e.Name(), prefix) {
			continue
		}
		if to, e2 := os.Readlink(path); e2 == nil && want[e.Name()] == to {
			delete(want, e.Name())
			continue
		}
		err = errors.Join(err, os.Remove(path))
	}
	if l.Shares != "" && m.Exists {
		err = errors.Join(err, l.share())
	}
	if len(want) == 0 || withheld || m.HidesUUIDs {
		return err
	}
	err = errors.Join(err, os.MkdirAll(l.Dir, 0o700))
	for name, to := range want {
		err = errors.Join(err, os.Symlink(to, filepath.Join(l.Dir, name)))
	}
	return err
}

// share creates the link to the contents of shares.
func (l *Links) share() error {
	link := filepath.Join(l.Dir, disk.SharesLink)
	if to, err := os.Readlink(link); err == nil && to == l.Shares {
		return nil
	}
	if err := os.MkdirAll(l.Dir, 0o700); err != nil {
		return err
	}
	if err := os.Remove(link); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	return os.Symlink(l.Shares, link)
}

// Mounts returns where a kubelet with that root directory has mounted a PersistentVolume, by the UID of the pod. The
// paths may have been removed: a kubelet removes them when it can.
func Mounts(root, volume string) map[string]string {
	found, err := filepath.Glob(filepath.Join(root, "pods", "*", "volumes", "kubernetes.io~csi", volume, "mount"))
	if err != nil { // a name with a pattern, which PersistentVolumes do not have
		return nil
	}
	paths := map[string]string{}
	for _, path := range found {
		pod := filepath.Dir(filepath.Dir(filepath.Dir(filepath.Dir(path))))
		paths[filepath.Base(pod)] = path
	}
	return paths
}
