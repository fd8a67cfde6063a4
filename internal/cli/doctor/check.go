package doctor

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"runtime"
	"slices"
	"strings"

	"github.com/vsphere-sandbox/vsphere-sandbox/internal/cli/command"
	left "github.com/vsphere-sandbox/vsphere-sandbox/internal/cli/leftovers"
	"github.com/vsphere-sandbox/vsphere-sandbox/internal/cli/output"
	"github.com/vsphere-sandbox/vsphere-sandbox/internal/instance"
)

// The verdicts.
const (
	pass = "pass"
	warn = "warn" // it will work, less well
	fail = "fail" // it will not work
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
	// Listen tries to listen on an address.
	Listen(ctx context.Context, address string) error
	// Memory is what can be had, in bytes.
	Memory() (uint64, error)
	// Disk is what is free for the directory, or what will be its parent, in bytes.
	Disk(dir string) (uint64, error)
	// OpenFiles is how many files a process may have open.
	OpenFiles() (uint64, error)
	// Write tries to make a file in the directory, or to make the directory.
	Write(dir string) error
}

const (
	gib = 1 << 30
	mib = 1 << 20
)

// checks returns all checks in the order they are told in.
func checks(o *options) []check {
	return []check{
		{"platform", func(context.Context) finding { return platform(o.os, o.arch) }},
		{"loopback", func(ctx context.Context) finding { return loopback(ctx, o.machine) }},
		{"memory", func(context.Context) finding {
			return amount(o.machine.Memory, "memory", "a control plane and six nodes take about 1Gi", 512*mib, gib)
		}},
		{"state-directory", func(context.Context) finding { return stateDirectory(o) }},
		{"disk", func(context.Context) finding {
			return amount(func() (uint64, error) {
				root, err := o.sandboxes.Root()
				if err != nil {
					return 0, errNoRoot
				}
				return o.machine.Disk(root)
			}, "disk space for the state directory", "a sandbox takes about 200Mi", 200*mib, gib)
		}},
		{"open-files", func(context.Context) finding { return openFiles(o.machine) }},
		{"leftovers", func(ctx context.Context) finding { return leftovers(ctx, o) }},
		{"tools", func(context.Context) finding {
			return finding{Verdict: pass, Message: "kubectl and govc are built in; nothing else is needed"}
		}},
	}
}

// errNoRoot is what checks say that look into the state directory where there is none: why, state-directory says.
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

func loopback(ctx context.Context, m machine) finding {
	if err := m.Listen(ctx, "127.0.0.1:0"); err != nil {
		return finding{Verdict: fail, Message: "127.0.0.1 cannot be listened on: " + err.Error()}
	}
	if err := m.Listen(ctx, "127.0.0.2:0"); err != nil {
		return finding{Verdict: warn, Message: "127.0.0.2 cannot be listened on: vCenters will share 127.0.0.1, each with a port of its own"}
	}
	return finding{Verdict: pass, Message: "127.0.0.2 and up can be listened on: every vCenter gets its own address"}
}

// amount judges a number of bytes: less than little is a failure, less than enough a warning.
func amount(measure func() (uint64, error), what, need string, little, enough uint64) finding {
	n, err := measure()
	if err != nil {
		return finding{Verdict: warn, Message: fmt.Sprintf("%s is not known: %v", what, err)}
	}
	f := finding{Verdict: pass, Message: fmt.Sprintf("%s of %s", output.Bytes(int64(min(n, 1<<62))), what)}
	if n < enough {
		f.Verdict = warn
		f.Message += "; " + need
	}
	if n < little {
		f.Verdict = fail
	}
	return f
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

func openFiles(m machine) finding {
	n, err := m.OpenFiles()
	switch {
	case err != nil:
		return finding{Verdict: warn, Message: fmt.Sprintf("the limit of open files is not known: %v", err)}
	case n < 1024:
		return finding{Verdict: warn, Message: fmt.Sprintf("a process may have %d files open; the API server wants 1024", n), Try: "ulimit -n 4096"}
	}
	return finding{Verdict: pass, Message: fmt.Sprintf("a process may have %d files open", n)}
}

// leftovers looks for dead sandboxes, and with --fix removes them.
func leftovers(ctx context.Context, o *options) finding {
	if _, err := o.sandboxes.Root(); err != nil {
		return finding{Verdict: warn, Message: "whether a sandbox has crashed is not known: " + errNoRoot.Error()}
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
			Verdict: warn, Message: "crashed and not cleared away: " + strings.Join(dead, ", "), Try: command.Program + " doctor --fix",
		}
	}
	done, err := o.sandboxes.Reap(ctx)
	if err != nil {
		return finding{Verdict: fail, Message: "clearing away what crashed: " + err.Error()}
	}
	return finding{Verdict: pass, Message: "cleared away: " + strings.Join(done, "; ")}
}

// unreverted looks for sandboxes that have written to real vCenters and are gone, and says how that is taken back.
func unreverted(o *options) (found, tries []string, err error) {
	root, err := o.sandboxes.Root()
	if err != nil {
		return nil, nil, nil // another check tells
	}
	all, err := left.Unreverted(root)
	for _, name := range slices.Sorted(maps.Keys(all)) {
		found = append(found, fmt.Sprintf("sandbox %q has left %d writes to real VMs", name, all[name]))
		tries = append(tries, command.Program+" down --name "+name)
	}
	return found, tries, err
}

func here() (os, arch string) { return runtime.GOOS, runtime.GOARCH }
