package dir

import (
	"log/slog"
	"os"
	"path/filepath"
	"strings"

	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/csi/node/folder"
)

// Options make the backend.
type Options struct {
	// Root is the directory of the volumes' directories; it is made.
	Root string
	// StateDir is where the backend keeps its mount table. It is the node's own, and lasts.
	StateDir string
	// Boot names this boot of the machine, as in package folder; empty for the kernel's own id of it.
	Boot string
	// Bind publishes by bind mounts, which need privilege and Linux: see [folder.CanBind]. Otherwise links do.
	Bind   bool
	Logger *slog.Logger
}

// New returns the backend. Error: the mount table cannot be read or written.
func New(o Options) (*folder.Backend, error) {
	var m folder.Mounter = folder.Links{}
	if o.Bind {
		m = folder.NewBinds()
	}
	if o.Boot == "" {
		o.Boot = bootID()
	}
	return folder.New(folder.Options{
		Disks: disks{root: o.Root}, Mounter: m, Table: filepath.Join(o.StateDir, "mounts.json"), Boot: o.Boot, Logger: o.Logger,
	})
}

// bootID is what the kernel calls this boot; empty where it has no name for it.
func bootID() string {
	b, err := os.ReadFile("/proc/sys/kernel/random/boot_id")
	if err != nil {
		return ""
	}
	return strings.TrimSpace(string(b))
}
