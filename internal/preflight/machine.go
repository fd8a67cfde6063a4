package preflight

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"math"
	"net"
	"os"
	"path/filepath"
	"time"

	"golang.org/x/sys/unix"

	"github.com/vsphere-sandbox/vsphere-sandbox/internal/loopback"
)

// Machine is what [Check] reads of a machine. [Here] returns that of this process; tests make one of data.
type Machine struct {
	// FS is the root of the file system: /proc and /sys are read.
	FS fs.FS
	// UID is the effective user.
	UID int
	// Limit returns the limit of a resource, as unix.RLIMIT_NOFILE, for this process; [math.MaxUint64] is none.
	Limit func(resource int) (uint64, error)
	// Disk returns the free bytes and inodes for a directory, or for what will be its parent; [math.MaxUint64] inodes is a
	// file system that does not count them.
	Disk func(dir string) (free, inodes uint64, err error)
	// Listen opens the listeners of vCenters, as [loopback.Listen] does, and closes them.
	Listen func(ctx context.Context, addresses []string, n, port int) error
	// Dial connects to a temporary listener at 127.0.0.1.
	Dial func(ctx context.Context) error
}

// Here returns this machine.
func Here() Machine {
	return Machine{FS: os.DirFS("/"), UID: os.Geteuid(), Limit: limit, Disk: disk, Listen: listen, Dial: dial}
}

// limit reads the soft limit. That of open files is the hard one: Go raises it when a process starts.
func limit(resource int) (uint64, error) {
	var l unix.Rlimit
	if err := unix.Getrlimit(resource, &l); err != nil {
		return 0, err
	}
	if l.Cur > math.MaxInt64 { // RLIM_INFINITY
		return math.MaxUint64, nil
	}
	return l.Cur, nil
}

func disk(dir string) (free, inodes uint64, err error) {
	var s unix.Statfs_t
	for {
		err := unix.Statfs(dir, &s)
		if parent := filepath.Dir(dir); errors.Is(err, fs.ErrNotExist) && parent != dir {
			dir = parent
			continue
		}
		if err != nil {
			return 0, 0, fmt.Errorf("%s: %w", dir, err)
		}
		inodes = s.Ffree
		if s.Files == 0 { // btrfs
			inodes = math.MaxUint64
		}
		return s.Bavail * uint64(s.Bsize), inodes, nil
	}
}

func listen(ctx context.Context, addresses []string, n, port int) error {
	all, _, err := loopback.Listen(ctx, addresses, n, port)
	loopback.Close(all)
	return err
}

// dialTime is how long a connection on loopback may take.
const dialTime = 5 * time.Second

func dial(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, dialTime)
	defer cancel()
	l, err := new(net.ListenConfig).Listen(ctx, "tcp", "127.0.0.1:0")
	if err != nil {
		return err
	}
	defer l.Close()
	c, err := new(net.Dialer).DialContext(ctx, "tcp", l.Addr().String())
	if err != nil {
		return err
	}
	return c.Close()
}
