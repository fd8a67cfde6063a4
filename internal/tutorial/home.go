package tutorial

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"time"
)

const (
	program   = "vsphere-sandbox"
	sidecars  = "csi-sidecars" // lies beside it
	tutorials = "tutorials"    // the folder of a clone that readers use files of
)

// Yours is the prefix of the reader's programs in the result of [Remove]; they keep running.
const Yours = "your "

// home is the environment of a reader: a clone, and separate directories. One run uses it exclusively.
type home struct {
	dir, clone, state string
	binary            string
	as                *syscall.Credential
	golang            []string // variables for Go; see goVars
	// shared reports whether the reader has terminals here, whose programs must not be killed.
	shared bool
}

func at(dir string) *home {
	return &home{dir: dir, clone: filepath.Join(dir, "clone"), state: filepath.Join(dir, "state")}
}

func newHome(r Runner) (h *home, err error) {
	if r.Binary, err = filepath.Abs(r.Binary); err != nil {
		return nil, err
	}
	if _, err = os.Stat(r.Binary); err != nil {
		return nil, err
	}
	dir := r.Dir
	if dir == "" {
		dir, err = os.MkdirTemp("", "vst-") // short: there will be sockets in it
	} else {
		err = os.MkdirAll(dir, 0o700)
	}
	if err != nil {
		return nil, err
	}
	h = at(dir)
	h.binary, h.as, h.shared = r.Binary, r.As, r.Dir != ""
	defer func() {
		if err != nil && !h.shared {
			err = errors.Join(err, os.RemoveAll(dir))
		}
	}()
	for _, d := range []string{filepath.Join(h.clone, "bin"), h.state, filepath.Join(dir, "home"), filepath.Join(dir, "tmp")} {
		if err = os.MkdirAll(d, 0o700); err != nil {
			return nil, err
		}
	}
	if err = h.link(); err != nil {
		return nil, err
	}
	if err = h.copyFiles(r); err != nil {
		return nil, err
	}
	return h, h.give()
}

// link links the program into the clone, and replaces a link to an older one.
func (h *home) link() error {
	to := filepath.Join(h.clone, "bin", program)
	if err := os.Remove(to); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	return os.Symlink(h.binary, to)
}

// copyFiles copies the files of the tutorials for the reader, unless they exist.
func (h *home) copyFiles(r Runner) error {
	if r.Files == nil && r.Root != "" {
		r.Files = os.DirFS(filepath.Join(r.Root, tutorials))
	}
	to := filepath.Join(h.clone, tutorials)
	if r.Files == nil {
		return nil
	}
	if _, err := os.Stat(to); err == nil {
		return nil
	}
	return os.CopyFS(to, r.Files)
}

// give changes the owner to the user of the commands.
func (h *home) give() error {
	if h.as == nil {
		return nil
	}
	return filepath.WalkDir(h.dir, func(path string, _ fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		return os.Lchown(path, int(h.as.Uid), int(h.as.Gid))
	})
}

// environ returns the environment of the shells. It has only the paths to the system's programs, Docker included.
func (h *home) environ() []string {
	env := append([]string{
		"PATH=" + filepath.Join(h.clone, "bin") + string(os.PathListSeparator) + os.Getenv("PATH"),
		"HOME=" + filepath.Join(h.dir, "home"), "TMPDIR=" + filepath.Join(h.dir, "tmp"), h.mine(),
		"LANG=C.UTF-8", "TZ=UTC", "TERM=dumb", "PS2=",
	}, h.golang...)
	if docker, ok := os.LookupEnv("DOCKER_HOST"); ok { // which Docker is the machine's
		env = append(env, "DOCKER_HOST="+docker)
	}
	return env
}

// mine is the variable that identifies processes of this home.
func (h *home) mine() string { return "VSPHERE_SANDBOX_STATE=" + h.state }

// hide replaces paths of the home by ….
func (h *home) hide(output string) string {
	// The program reports the path that it was found at.
	for _, own := range []string{filepath.Dir(h.binary), filepath.Join(h.clone, "bin"), h.clone, h.dir} {
		output = strings.ReplaceAll(output, own+string(filepath.Separator), anything+string(filepath.Separator))
	}
	return output
}

// left lists what is left in this home: sandboxes, files in the clone, and processes on systems that list them (Linux does).
// Caches in HOME and TMPDIR do not count.
func (h *home) left() []string {
	var found []string
	for dir, what := range map[string]string{h.state: "sandbox", h.clone: "file"} {
		entries, err := os.ReadDir(dir)
		if err != nil {
			return []string{err.Error()}
		}
		for _, e := range entries {
			if dir != h.clone || e.Name() != "bin" && e.Name() != tutorials {
				found = append(found, what+" "+e.Name())
			}
		}
	}
	slices.Sort(found)
	for _, pid := range h.processes() {
		line, err := os.ReadFile(filepath.Join("/proc", strconv.Itoa(pid), "cmdline"))
		if err != nil {
			continue // it has ended since
		}
		kind := "process"
		if h.shared && !h.ours(pid) {
			kind = Yours + "process"
		}
		found = append(found, fmt.Sprintf("%s %d: %s", kind, pid, bytes.ReplaceAll(bytes.TrimRight(line, "\x00"), []byte{0}, []byte{' '})))
	}
	return found
}

func (h *home) processes() []int {
	all, _ := filepath.Glob("/proc/[0-9]*/environ") // the pattern is fine
	var found []int
	for _, path := range all {
		env, err := os.ReadFile(path)
		if err != nil || !slices.ContainsFunc(bytes.Split(env, []byte{0}), func(v []byte) bool { return string(v) == h.mine() }) {
			continue
		}
		// The guide may have been started from the reader's own terminal.
		if pid, err := strconv.Atoi(filepath.Base(filepath.Dir(path))); err == nil && pid != os.Getpid() {
			found = append(found, pid)
		}
	}
	return found
}

// remove ends everything in the home and removes the directory. It returns what it ended.
func (h *home) remove(ctx context.Context) (left []string, err error) {
	const orderly, soon, look = 30 * time.Second, 3 * time.Second, 20 * time.Millisecond
	ctx = context.WithoutCancel(ctx)
	// The last process of a sandbox may end a moment after the command that ended it.
	h.waitGone(ctx, soon, look)
	left = h.left()
	var errs []error
	if len(left) > 0 {
		down, cancel := context.WithTimeout(ctx, orderly)
		cmd := exec.CommandContext(down, h.binary, "down", "--all")
		cmd.Dir, cmd.Env = h.clone, h.environ()
		cmd.SysProcAttr = &syscall.SysProcAttr{Credential: h.as}
		cmd.WaitDelay = soon // what it leaves may hold its output
		if out, err := cmd.CombinedOutput(); err != nil {
			errs = append(errs, fmt.Errorf("%s down --all: %w\n%s", program, err, out))
		}
		cancel()
		h.waitGone(ctx, soon, look)
		for _, pid := range h.processes() {
			if h.shared && !h.ours(pid) {
				continue
			}
			errs = append(errs, fmt.Errorf("process %d survived \"down --all\" and is killed", pid), syscall.Kill(pid, syscall.SIGKILL))
		}
	}
	return left, errors.Join(append(errs, os.RemoveAll(h.dir))...)
}

// ours reports whether a process is one of the program; if unknown, it is.
func (h *home) ours(pid int) bool {
	exe, err := os.Readlink(filepath.Join("/proc", strconv.Itoa(pid), "exe"))
	if err != nil {
		return true
	}
	binary, err := filepath.EvalSymlinks(h.binary)
	exe = strings.TrimSuffix(exe, " (deleted)") // the program was updated since
	return err != nil || exe == binary || filepath.Base(exe) == sidecars
}

// waitGone polls: only a parent can wait for a process.
func (h *home) waitGone(ctx context.Context, long, again time.Duration) {
	ctx, cancel := context.WithTimeout(ctx, long)
	defer cancel()
	tick := time.NewTicker(again)
	defer tick.Stop()
	for len(h.processes()) > 0 {
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
		}
	}
}
