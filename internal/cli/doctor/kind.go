package doctor

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"

	"github.com/vsphere-sandbox/vsphere-sandbox/internal/coded"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/cluster/kind"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/cluster/kind/machine/loop"
)

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
