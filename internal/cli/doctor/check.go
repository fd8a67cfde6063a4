package doctor

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strconv"
	"strings"

	"github.com/vsphere-sandbox/vsphere-sandbox/internal/cli/command"
	left "github.com/vsphere-sandbox/vsphere-sandbox/internal/cli/leftovers"
	"github.com/vsphere-sandbox/vsphere-sandbox/internal/coded"
	"github.com/vsphere-sandbox/vsphere-sandbox/internal/instance"
	"github.com/vsphere-sandbox/vsphere-sandbox/internal/preflight"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/cluster/kind"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/cluster/kind/guest/loop"
)

// The verdicts.
const (
	pass = string(preflight.Pass)
	warn = string(preflight.Warn)
	fail = string(preflight.Fail)
)

// finding is what a check found.
type finding struct {
	Check   string `json:"check"`
	Verdict string `json:"verdict"`
	Message string `json:"message"`
	Try     string `json:"try,omitempty"`
}

// check looks at one thing.
type check struct {
	name string
	run  func(context.Context) finding
}

// machine is what checks look at.
type machine interface {
	// Limits are what the preflight of "up" reads.
	Limits() preflight.Host
	// Write tries to make a file in the directory, or to make the directory.
	Write(dir string) error
}

// six is the size of the sandbox whose needs are compared with the machine's limits: six nodes and volumes.
func six() preflight.Size {
	return preflight.Size{Cluster: true, Nodes: 6, VMs: 6, CSI: true, CCMs: 1, VCenters: 2}
}

// limits makes the checks that "up" makes before it boots.
func limits(ctx context.Context, o *options) []finding {
	size, m := six(), o.machine.Limits()
	var err error
	if size.Dir, err = o.sandboxes.Root(); err != nil {
		m.Disk = func(string) (free, inodes uint64, _ error) { return 0, 0, err } // another check has words for it
	}
	var found []finding
	for _, f := range preflight.Check(ctx, m, preflight.NeedOf(size, o.cpus)) {
		found = append(found, finding{Check: f.Check, Verdict: string(f.Verdict), Message: f.Message, Try: f.Try})
	}
	return found
}

// checks returns all checks but those of limits, in the order they are printed in.
func checks(o *options) []check {
	return []check{
		{"platform", func(context.Context) finding { return platform(o.os, o.arch) }},
		{"state-directory", func(context.Context) finding { return stateDirectory(o) }},
		{"leftovers", func(ctx context.Context) finding { return leftovers(ctx, o) }},
		{"tools", func(context.Context) finding {
			return finding{Verdict: pass, Message: "kubectl and govc are built in; nothing else is needed"}
		}},
	}
}

// errNoRoot is the result of checks that need the state directory if it is missing; the check state-directory has the
// reason.
var errNoRoot = errors.New("no state directory")

// elsewhere is what to do about a state directory that cannot be used.
const elsewhere = "export " + instance.RootEnv + "=DIRECTORY"

func platform(os, arch string) finding {
	name := os + "/" + arch
	switch {
	case os == "linux" && (arch == "amd64" || arch == "arm64"):
		return finding{Verdict: pass, Message: name}
	case os == "darwin":
		return finding{Verdict: warn, Message: name + ": it builds; nodes are known to work on Linux only"}
	}
	return finding{Verdict: fail, Message: name + " is not supported; Linux on amd64 and arm64 is"}
}

func stateDirectory(o *options) finding {
	root, err := o.sandboxes.Root()
	if err != nil {
		return finding{Verdict: fail, Message: err.Error(), Try: elsewhere}
	}
	if err := o.machine.Write(root); err != nil {
		return finding{Verdict: fail, Message: err.Error(), Try: elsewhere}
	}
	return finding{Verdict: pass, Message: root + " can be written to"}
}

// leftovers looks for dead sandboxes, and with --fix removes them.
func leftovers(ctx context.Context, o *options) finding {
	if _, err := o.sandboxes.Root(); err != nil {
		return finding{Verdict: warn, Message: "cannot check for crashed sandboxes: " + errNoRoot.Error()}
	}
	all, err := o.sandboxes.List(ctx)
	if err != nil {
		return finding{Verdict: fail, Message: err.Error()}
	}
	var dead []string
	for _, s := range all {
		if s.State() == command.Crashed || s.State() == command.Left {
			dead = append(dead, s.Name)
		}
	}
	written, tries, err := unreverted(o)
	switch {
	case err != nil:
		return finding{Verdict: fail, Message: err.Error()}
	case len(dead) == 0 && len(written) > 0: // what is cleared away first has its own words for it
		return finding{Verdict: warn, Message: strings.Join(written, "; "), Try: strings.Join(tries, "\n")}
	case len(dead) == 0:
		return finding{Verdict: pass, Message: "no sandbox has crashed"}
	case !o.fix:
		return finding{
			Verdict: warn, Message: "crashed, and not removed yet: " + strings.Join(dead, ", "), Try: command.Program + " doctor --fix",
		}
	}
	done, err := o.sandboxes.Reap(ctx)
	if err != nil {
		return finding{Verdict: fail, Message: "remove what crashed sandboxes left: " + err.Error()}
	}
	return finding{Verdict: pass, Message: "removed: " + strings.Join(done, "; ")}
}

// unreverted looks for sandboxes that have written to real vCenters and are gone, and says how that is taken back.
func unreverted(o *options) (found, tries []string, err error) {
	root, err := o.sandboxes.Root()
	if err != nil {
		return nil, nil, nil // another check reports it
	}
	all, err := left.Unreverted(root)
	for _, name := range slices.Sorted(maps.Keys(all)) {
		found = append(found, fmt.Sprintf("sandbox %q has left %d writes to real VMs", name, all[name]))
		tries = append(tries, command.Program+" down --name "+name)
	}
	return found, tries, err
}

func here() (os, arch string) { return runtime.GOOS, runtime.GOARCH }

// local is this machine.
type local struct{}

func (local) Limits() preflight.Host { return preflight.Here() }

// Write leaves nothing behind that was not there.
func (local) Write(dir string) error {
	missing := firstMissing(dir)
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return err
	}
	f, err := os.CreateTemp(dir, ".doctor.*")
	if err == nil {
		err = errors.Join(f.Close(), os.Remove(f.Name()))
	}
	for missing != "" && dir != filepath.Dir(missing) {
		if os.Remove(dir) != nil { // it is in use by now
			break
		}
		dir = filepath.Dir(dir)
	}
	return err
}

// firstMissing returns the topmost directory on the way to dir that does not exist, "" when dir does.
func firstMissing(dir string) string {
	missing := ""
	for {
		if _, err := os.Lstat(dir); err == nil {
			return missing
		}
		missing = dir
		parent := filepath.Dir(dir)
		if parent == dir {
			return missing
		}
		dir = parent
	}
}

// containers is what nodes that are containers need of this machine. Nothing of it fails a machine: the default is nodes
// that are processes.
type containers interface {
	// Runtime names the container runtime that kind would take.
	Runtime(ctx context.Context) (string, error)
	// Inotify is how many inotify instances a user may have.
	Inotify() (int, error)
	// Disks tries whether files below the directory, or what will be its parent, can be block devices.
	Disks(dir string) error
	// Cgroup is the version of control groups.
	Cgroup() (int, error)
}

// enoughInotify suffices for a kind cluster of six nodes beside a desktop.
const enoughInotify = 1024

// kindChecks returns the checks of a container runtime; without one, only that it is missing.
func kindChecks(ctx context.Context, o *options) []check {
	name, err := o.containers.Runtime(ctx)
	first := check{"kind-runtime", func(context.Context) finding { return kindRuntime(name, err) }}
	if err != nil {
		return []check{first}
	}
	return []check{
		first,
		{"kind-inotify", func(context.Context) finding { return inotify(o.containers) }},
		{"kind-disks", func(context.Context) finding { return disks(o) }},
		{"kind-cgroup", func(context.Context) finding { return cgroup(o.containers) }},
	}
}

func kindRuntime(name string, err error) finding {
	if err == nil {
		return finding{Verdict: pass, Message: name + " answers: up --cluster kind can make containers"}
	}
	f := finding{Verdict: warn, Message: fmt.Sprintf("%v; only up --cluster kind needs one", err)}
	if e, ok := errors.AsType[*coded.Error](err); ok {
		f.Try, _, _ = strings.Cut(e.Try, "\n")
	}
	return f
}

func inotify(m containers) finding {
	n, err := m.Inotify()
	switch {
	case err != nil:
		return finding{Verdict: warn, Message: fmt.Sprintf("cannot read the limit of inotify instances: %v", err)}
	case n < enoughInotify:
		return finding{
			Verdict: warn, Try: fmt.Sprintf("sudo sysctl fs.inotify.max_user_instances=%d", enoughInotify),
			Message: fmt.Sprintf("fs.inotify.max_user_instances is %d; a kind cluster of six nodes takes some 120, and other programs have theirs: nodes may fail to start", n),
		}
	}
	return finding{Verdict: pass, Message: fmt.Sprintf("fs.inotify.max_user_instances is %d", n)}
}

func disks(o *options) finding {
	root, err := o.sandboxes.Root()
	if err != nil {
		return finding{Verdict: warn, Message: fmt.Sprintf("cannot check loop devices: %v", errNoRoot)}
	}
	if err := o.containers.Disks(root); err != nil {
		return finding{Verdict: warn, Message: fmt.Sprintf("volumes on kind will be directories, which have no size limit and cannot be raw block volumes: %v", err)}
	}
	return finding{Verdict: pass, Message: "loop devices work: volumes on kind can be block devices"}
}

func cgroup(m containers) finding {
	n, err := m.Cgroup()
	switch {
	case err != nil:
		return finding{Verdict: warn, Message: fmt.Sprintf("cannot read the version of control groups: %v", err)}
	case n < 2:
		return finding{Verdict: pass, Message: "control groups are version 1, which Kubernetes is removing: kubelets of nodes here are configured to accept them"}
	}
	return finding{Verdict: pass, Message: "control groups are of version 2"}
}

// Runtime implements [containers].
func (local) Runtime(ctx context.Context) (string, error) {
	rt, err := kind.Detect(ctx)
	if err != nil {
		return "", err
	}
	return rt.Name(), nil
}

// Inotify implements [containers].
func (local) Inotify() (int, error) {
	text, err := os.ReadFile("/proc/sys/fs/inotify/max_user_instances")
	if err != nil {
		return 0, err
	}
	return strconv.Atoi(strings.TrimSpace(string(text)))
}

// Disks implements [containers].
func (local) Disks(dir string) error {
	for {
		if _, err := os.Stat(dir); err == nil || filepath.Dir(dir) == dir {
			return loop.Probe(dir)
		}
		dir = filepath.Dir(dir)
	}
}

// Cgroup implements [containers].
func (local) Cgroup() (int, error) {
	const root = "/sys/fs/cgroup"
	if _, err := os.Stat(filepath.Join(root, "cgroup.controllers")); err == nil {
		return 2, nil
	}
	if _, err := os.Stat(root); err != nil {
		return 0, err
	}
	return 1, nil
}
