package lab

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/vsphere-sandbox/vsphere-sandbox/internal/atomicfile"
	"github.com/vsphere-sandbox/vsphere-sandbox/internal/child"
	"github.com/vsphere-sandbox/vsphere-sandbox/internal/pace"
)

// CCMOptions say which cloud controller manager to run, and how. The zero value is ours, with the account and the roles
// of its manifest and its credentials in the Secret.
type CCMOptions struct {
	// Name is that of its files, for labs with more than one. Default: "ccm".
	Name string
	// Path is a program that takes the flags of cloud controller managers, an upstream release for one. Default: ours,
	// built from the tree.
	Path string
	// Args come after the lab's own, and so in their places.
	Args []string
	// Env is added to an environment without variables that configure providers.
	Env []string
	// Admin runs it as the cluster's admin.
	Admin bool
	// Inline has the credentials in vsphere.conf.
	Inline bool
	// Config is another vsphere.conf.
	Config string
	// StopGrace is the time from TERM to KILL. Default 10 s.
	StopGrace time.Duration
}

// CCM is a cloud controller manager as a child process. It is restarted with a back-off when it exits, as a DaemonSet's
// pod is. Its methods may be called from any goroutine, one at a time.
type CCM struct {
	// ConfigFile is its vsphere.conf, which may be rewritten, and LogFile what it logs.
	ConfigFile, LogFile string

	spec child.Spec

	mu      sync.Mutex
	process *child.Child
	exits   exits
}

// StartCCM starts it, and stops it at the end of the test. It returns when the process runs.
func (l *Lab) StartCCM(o CCMOptions) *CCM {
	l.t.Helper()
	c, err := l.newCCM(o)
	if err != nil {
		l.t.Fatal(err)
	}
	c.Start()
	l.t.Cleanup(func() {
		if err := c.Stop(); err != nil {
			l.t.Error(err)
		}
	})
	return c
}

func (l *Lab) newCCM(o CCMOptions) (*CCM, error) {
	l.t.Helper()
	if o.Name == "" {
		o.Name = "ccm"
	}
	ours := o.Path == ""
	if ours {
		path, err := l.ccmBinary()
		if err != nil {
			return nil, err
		}
		o.Path = path
	}
	kubeconfig := l.Cluster.Kubeconfig()
	if !o.Admin {
		a, err := l.leastPrivilege()
		if err != nil {
			return nil, err
		}
		kubeconfig = a.kubeconfig
	}
	conf := []byte(o.Config)
	if o.Config == "" {
		conf = l.cloudConfig(o.Inline)
	}
	if !o.Inline {
		l.WriteSecret(nil)
	}
	c := &CCM{ConfigFile: l.write(o.Name+".conf", conf), LogFile: filepath.Join(l.Dir, o.Name+".log")}
	c.spec = child.Spec{
		Name: o.Name, Path: o.Path, LogPath: c.LogFile, LogLimit: 1 << 30, StopGrace: max(o.StopGrace, 10*time.Second),
		Env:  append(withoutProviderVariables(os.Environ()), o.Env...),
		Args: append(l.ccmArgs(c.ConfigFile, kubeconfig, ours), o.Args...),
	}
	return c, nil
}

func (l *Lab) ccmArgs(conf, kubeconfig string, ours bool) []string {
	args := []string{
		"--cloud-provider=vsphere",
		"--cloud-config=" + conf,
		"--kubeconfig=" + kubeconfig,
		"--leader-elect=false",
		"--bind-address=127.0.0.1",
		"--secure-port=0", // it has no clients; without a port it needs no permission to create TokenReviews
		"--concurrent-node-syncs=4",
		"--v=2",
	}
	args = append(args, l.speed.CCMArgs()...)
	if ours && l.speed != 1 {
		args = append(args, "--tag-refresh-period="+l.speed.Of(pace.TagRefresh).String())
	}
	return args
}

// withoutProviderVariables leaves out what a provider would read its configuration from.
func withoutProviderVariables(environ []string) []string {
	return slices.DeleteFunc(environ, func(v string) bool {
		return strings.HasPrefix(v, "VSPHERE_") || strings.HasPrefix(v, "SKIP_NODE_DELETION") || strings.HasPrefix(v, "ENABLE_ALPHA_")
	})
}

// Start starts it after Stop or Kill. It does nothing if the process runs.
func (c *CCM) Start() {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.process != nil {
		return
	}
	running := make(chan struct{})
	once := sync.OnceFunc(func() { close(running) })
	c.process = child.Start(c.spec, func(change child.Change) {
		if change.State == child.Exited {
			c.crashed(change)
		}
		once()
	})
	<-running
}

func (c *CCM) crashed(change child.Change) {
	err := change.Err
	if err == nil {
		err = fmt.Errorf("%s: exit status 0", change.Name)
	}
	c.exits.add(fmt.Sprintf("%v\n%s", err, strings.Join(change.Tail, "\n")))
}

// Stop ends it with TERM. The error says that it had to be killed.
func (c *CCM) Stop() error {
	return c.end(func(p *child.Child) error { return p.Stop(context.Background()) })
}

// Kill ends it with KILL: no session is logged out.
func (c *CCM) Kill() error { return c.end((*child.Child).Kill) }

func (c *CCM) end(how func(*child.Child) error) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.process == nil {
		return nil
	}
	err := how(c.process)
	c.process = nil
	return err
}

// Restart is Kill and Start: what is in memory only is lost.
func (c *CCM) Restart() error {
	err := c.Kill()
	c.Start()
	return err
}

// PID returns the process ID, or 0.
func (c *CCM) PID() int {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.process == nil {
		return 0
	}
	return c.process.PID()
}

// Exits returns how the processes exited that were not stopped, each with the end of its log.
func (c *CCM) Exits() []string { return c.exits.all() }

// Log is everything that it has logged so far, over all starts.
func (c *CCM) Log() string {
	log, _ := os.ReadFile(c.LogFile) // empty until it says something
	return string(log)
}

// WriteConfig replaces its vsphere.conf as a kubelet replaces a file of a ConfigMap.
func (c *CCM) WriteConfig(text []byte) error { return atomicfile.WriteFile(c.ConfigFile, text, 0o600) }
