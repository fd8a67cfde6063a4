package release

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

// unprivileged is the UID of the programs in a jail.
const unprivileged = 65534

// The places in a jail.
const (
	program = "/home/nobody/vsphere-sandbox/vsphere-sandbox"
	homeDir = "/home/nobody"
)

// order is something to be done in a jail.
type order struct {
	Args []string `json:"args,omitempty"` // a program to run, with these environment variables and no other
	Env  []string `json:"env,omitempty"`

	ReadOnly bool   `json:"readOnly,omitempty"` // nothing but /tmp can be written to from now on
	List     string `json:"list,omitempty"`     // a folder whose files are listed
}

// outcome is how that went.
type outcome struct {
	Exit     int      `json:"exit"`
	Out, Err string   `json:",omitempty"`
	Files    []string `json:"files,omitempty"`
	Failed   string   `json:"failed,omitempty"` // that it could not be done at all
}

// warden is the first process of a jail, in new namespaces for processes, mounts and networks. It sets up the jail and
// executes orders one by one until its input ends; then everything in the jail ends. It stays outside of the jail's root
// itself.
func warden(root string) error {
	if err := furnish(root); err != nil {
		return err
	}
	in, out := json.NewDecoder(os.Stdin), json.NewEncoder(os.Stdout)
	for {
		var o order
		if err := in.Decode(&o); errors.Is(err, io.EOF) {
			return nil
		} else if err != nil {
			return err
		}
		result, err := obey(root, o)
		if err != nil {
			result.Failed = err.Error()
		}
		if err := out.Encode(result); err != nil {
			return err
		}
	}
}

func furnish(root string) error {
	if err := unix.Mount("", "/", "", unix.MS_REC|unix.MS_PRIVATE, ""); err != nil {
		return fmt.Errorf("mounts of our own: %w", err)
	}
	if err := unix.Mount("root", root, "tmpfs", unix.MS_NOSUID, "mode=0755"); err != nil {
		return fmt.Errorf("root: %w", err)
	}
	for _, dir := range []string{"proc", "dev", "tmp", "home", "etc"} {
		if err := os.Mkdir(filepath.Join(root, dir), 0o755); err != nil {
			return err
		}
	}
	if err := unix.Mount("proc", filepath.Join(root, "proc"), "proc", unix.MS_NOSUID|unix.MS_NODEV|unix.MS_NOEXEC, ""); err != nil {
		return fmt.Errorf("proc: %w", err)
	}
	if err := unix.Mount("tmp", filepath.Join(root, "tmp"), "tmpfs", unix.MS_NOSUID|unix.MS_NODEV, "mode=1777"); err != nil {
		return fmt.Errorf("tmp: %w", err)
	}
	// Every system says who its users are, and the kubelet asks whether there is one by its name.
	const users = "root:x:0:0:::\nnobody:x:65534:65534::/home/nobody:\n"
	if err := os.WriteFile(filepath.Join(root, "etc", "passwd"), []byte(users), 0o644); err != nil {
		return err
	}
	unix.Umask(0)
	for name, minor := range map[string]uint32{"null": 3, "zero": 5, "random": 8, "urandom": 9} {
		if err := unix.Mknod(filepath.Join(root, "dev", name), unix.S_IFCHR|0o666, int(unix.Mkdev(1, minor))); err != nil {
			return fmt.Errorf("dev: %w", err)
		}
	}
	unix.Umask(0o022)
	if err := loopback(); err != nil {
		return fmt.Errorf("loopback: %w", err)
	}
	home := filepath.Join(root, homeDir)
	if err := errors.Join(os.Mkdir(home, 0o700), os.Chown(home, unprivileged, unprivileged)); err != nil {
		return err
	}
	return asUnprivileged(func() error {
		return unpack(os.Getenv("RELEASE_TEST_ARCHIVE"), filepath.Join(root, filepath.Dir(program)))
	})
}

// loopback raises the one interface that a new network namespace has.
func loopback() error {
	s, err := unix.Socket(unix.AF_INET, unix.SOCK_DGRAM|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		return err
	}
	defer unix.Close(s)
	lo, err := unix.NewIfreq("lo")
	if err != nil {
		return err
	}
	lo.SetUint16(unix.IFF_UP | unix.IFF_RUNNING)
	return unix.IoctlIfreq(s, unix.SIOCSIFFLAGS, lo)
}

// asUnprivileged does something with files as the user of the jail, who has to be able to.
func asUnprivileged(f func() error) error {
	done := make(chan error)
	go func() {
		runtime.LockOSThread() // the thread ends with this goroutine
		if err := errors.Join(unix.Setfsgid(unprivileged), unix.Setfsuid(unprivileged)); err != nil {
			done <- err
			return
		}
		done <- f()
	}()
	return <-done
}

func obey(root string, o order) (outcome, error) {
	switch {
	case o.ReadOnly:
		return outcome{}, unix.Mount("", root, "", unix.MS_REMOUNT|unix.MS_RDONLY|unix.MS_NOSUID, "")
	case o.List != "":
		files, err := list(filepath.Join(root, o.List))
		return outcome{Files: files}, err
	}
	return execute(root, o)
}

func list(dir string) ([]string, error) {
	var files []string
	err := filepath.WalkDir(dir, func(path string, _ fs.DirEntry, err error) error {
		if err != nil || path == dir {
			return err
		}
		path, err = filepath.Rel(dir, path)
		files = append(files, path)
		return err
	})
	return files, err
}

// execute runs a program in the jail to its end, at most three minutes. Its output goes to files outside, so that a
// background process does not block.
func execute(root string, o order) (result outcome, err error) {
	var written [2]*os.File
	for i := range written {
		if written[i], err = os.CreateTemp("", "jail-"); err != nil {
			return outcome{}, err
		}
		defer written[i].Close()
		if err := os.Remove(written[i].Name()); err != nil {
			return outcome{}, err
		}
	}
	null, err := os.Open(os.DevNull)
	if err != nil {
		return outcome{}, err
	}
	defer null.Close()
	p, err := os.StartProcess(o.Args[0], o.Args, &os.ProcAttr{
		Dir: "/", Env: append([]string{}, o.Env...), Files: []*os.File{null, written[0], written[1]},
		Sys: &syscall.SysProcAttr{Chroot: root, Credential: &syscall.Credential{Uid: unprivileged, Gid: unprivileged}, Setsid: true},
	})
	if err != nil {
		return outcome{}, err
	}
	late := time.AfterFunc(3*time.Minute, func() { _ = p.Kill() }) // its only error is that it has ended
	defer late.Stop()
	// As the first process this one is the parent of every orphan, and has to take its leave of each.
	for {
		var status syscall.WaitStatus
		pid, err := syscall.Wait4(-1, &status, 0, nil)
		if errors.Is(err, syscall.EINTR) {
			continue
		}
		if err != nil {
			return outcome{}, err
		}
		if pid != p.Pid {
			continue
		}
		result.Exit = status.ExitStatus()
		break
	}
	var texts [2][]byte
	for i, f := range written {
		size, err := f.Seek(0, io.SeekEnd)
		if err != nil {
			return outcome{}, err
		}
		texts[i] = make([]byte, size)
		if _, err := f.ReadAt(texts[i], 0); err != nil && !errors.Is(err, io.EOF) {
			return outcome{}, err
		}
	}
	result.Out, result.Err = string(texts[0]), string(texts[1])
	return result, nil
}
