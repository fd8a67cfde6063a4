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

	"github.com/vsphere-sandbox/vsphere-sandbox/internal/nearest"
)

const (
	program   = "vsphere-sandbox"
	sidecars  = "csi-sidecars" // lies beside it
	tutorials = "tutorials"    // the folder of a clone that readers use files of

	controllers = "CLUSTER_API" // the variable that names the folder of hack/clusterapi
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
	for _, name := range []string{"DOCKER_HOST", controllers} { // which Docker and which controllers are the machine's
		if value, ok := os.LookupEnv(name); ok {
			env = append(env, name+"="+value)
		}
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

// Needs are what a page may require of a machine.
//
//	docker       docker or podman, answering
//	go           a Go toolchain
//	root         commands run as root
//	cluster-api  the controllers of Cluster API, in the folder of the variable CLUSTER_API
func Needs() []string { return []string{"docker", "go", "root", "cluster-api"} }

// needs parses a list of needs, with commas or spaces.
func needs(value string) ([]string, error) {
	found := strings.FieldsFunc(value, func(r rune) bool { return r == ',' || r == ' ' })
	if len(found) == 0 {
		return nil, fmt.Errorf("what is needed is missing: one of %s", strings.Join(Needs(), ", "))
	}
	for _, n := range found {
		if slices.Contains(Needs(), n) {
			continue
		}
		guess := ""
		if near := nearest.Of(n, Needs()); near != "" {
			guess = fmt.Sprintf("did you mean %q? ", near)
		}
		return nil, fmt.Errorf("%q is nothing to be needed: %sthere are %s", n, guess, strings.Join(Needs(), ", "))
	}
	return found, nil
}

// machine checks whether this machine has what is needed in this home; nil means yes.
func (h *home) machine(ctx context.Context, need string) error {
	switch need {
	case "docker":
		docker := h.answers(ctx, "docker", "info")
		if docker == nil {
			return nil
		}
		podman := h.answers(ctx, "podman", "info")
		if podman == nil {
			return nil
		}
		return fmt.Errorf("%w; %w", docker, podman)
	case "go":
		return h.answers(ctx, "go", "version")
	case "root":
		uid := os.Geteuid()
		if h.as != nil {
			uid = int(h.as.Uid)
		}
		if uid != 0 {
			return fmt.Errorf("commands run as user %d", uid)
		}
		return nil
	case "cluster-api":
		if dir := os.Getenv(controllers); dir != "" {
			_, err := os.Stat(filepath.Join(dir, "manager"))
			return err
		}
		return errors.New("no variable " + controllers)
	}
	return fmt.Errorf("unknown requirement %q", need)
}

// answers runs a program as the reader would; nil means that it succeeds soon.
func (h *home) answers(ctx context.Context, name string, args ...string) error {
	const soon = 10 * time.Second
	path, err := exec.LookPath(name)
	if errors.Is(err, exec.ErrNotFound) {
		return fmt.Errorf("no %s here", name)
	}
	if err != nil {
		return err
	}
	if path, err = filepath.Abs(path); err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(ctx, soon)
	defer cancel()
	cmd := exec.CommandContext(ctx, path, args...)
	cmd.Dir, cmd.Env = h.clone, h.environ()
	cmd.SysProcAttr = &syscall.SysProcAttr{Credential: h.as}
	cmd.WaitDelay = time.Second
	if out, err := cmd.CombinedOutput(); err != nil {
		first, _, _ := strings.Cut(strings.TrimSpace(string(out)), "\n")
		return fmt.Errorf("%s %s: %w: %s", name, strings.Join(args, " "), err, first)
	}
	return nil
}

// needs reports whether any part of the page needs that.
func (p *Page) needs(need string) bool {
	return slices.ContainsFunc(p.Steps, func(s Step) bool {
		return slices.Contains(s.Needs, need) || slices.ContainsFunc(s.Blocks, func(b Block) bool { return slices.Contains(b.Needs, need) })
	})
}

// goVars are the settings of Go modules on this machine: the reader's home does not have them.
func goVars() []string {
	const soon = 10 * time.Second
	ctx, cancel := context.WithTimeout(context.Background(), soon)
	defer cancel()
	names := []string{"GOPROXY", "GOSUMDB", "GONOSUMDB", "GONOPROXY", "GOFLAGS", "GOTOOLCHAIN"}
	out, err := exec.CommandContext(ctx, "go", append([]string{"env"}, names...)...).Output()
	values := strings.Split(strings.TrimSuffix(string(out), "\n"), "\n")
	if err != nil || len(values) != len(names) {
		return nil // the step that needs it says so
	}
	for i, name := range names {
		values[i] = name + "=" + values[i]
	}
	return values
}
