package vcenterconfig

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net"
	"net/url"
	"path/filepath"
	"strings"
	"sync"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
	"github.com/vmware/govmomi/fault"
	"github.com/vmware/govmomi/vim25/types"

	"github.com/vsphere-sandbox/vsphere-sandbox/internal/build"
	"github.com/vsphere-sandbox/vsphere-sandbox/internal/cli/report"
	"github.com/vsphere-sandbox/vsphere-sandbox/internal/printable"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/provider/config"
	client "github.com/vsphere-sandbox/vsphere-sandbox/pkg/provider/vcenter"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/sandbox/vcenters/real"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/vcenter"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/vcenter/inventory"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/vcenter/scope"
)

// Environment as the value of --vcenter-config selects govc's variables. They are not used by default: those of a shell
// may lead to a simulated vCenter, or to a forgotten one.
const Environment = "env"

// Flags say which vCenters, VMs, nodes and writes. The zero value is ready for [Flags.Bind].
type Flags struct {
	config string
	chosen real.Options // but for Config
}

// Bind adds the flags of vCenters and of their VMs to a command.
func (f *Flags) Bind(cmd *cobra.Command) {
	flags := cmd.Flags()
	flags.StringVar(&f.config, "vcenter-config", "",
		"use real vCenters: a vsphere.conf `FILE`, or \""+Environment+"\" for GOVC_URL and the other variables of govc")
	flags.StringArrayVar(&f.chosen.Selection.Folders, "folder", nil,
		"select VMs in `FOLDER` and below: a path in the VM folder of a datacenter, or from the root (/dc/vm/k8s); repeatable")
	flags.StringArrayVar(&f.chosen.Selection.Tags, "tag", nil, "select VMs with the tag `CATEGORY:TAG`; repeatable")
	flags.StringArrayVar(&f.chosen.Selection.Names, "vm", nil, "select VMs with names like `PATTERN` (* and ?); repeatable")
	flags.StringArrayVar(&f.chosen.Selection.Pools, "pool", nil, "select VMs in resource `POOL` and below; repeatable")
	flags.StringArrayVar(&f.chosen.Selection.Datacenters, "datacenter", nil, "select VMs of `DATACENTER`; repeatable")
	quiet(cmd, "folder", "tag", "vm", "pool", "datacenter")
}

// Config is what --vcenter-config was given; empty when it was not.
func (f *Flags) Config() string { return f.config }

// Choice are the flags that choose VMs, as they were given: for a command line that looks at the same.
func (f *Flags) Choice() (args []string) {
	s := f.chosen.Selection
	for _, flag := range []struct {
		name   string
		values []string
	}{{"--folder", s.Folders}, {"--tag", s.Tags}, {"--vm", s.Names}, {"--pool", s.Pools}, {"--datacenter", s.Datacenters}} {
		for _, value := range flag.values {
			args = append(args, flag.name, value)
		}
	}
	return args
}

// BindNodes adds the flags that say which VMs are nodes.
func (f *Flags) BindNodes(cmd *cobra.Command) {
	flags := cmd.Flags()
	flags.StringArrayVar(&f.chosen.Nodes, "nodes", nil,
		"VMs with names like `PATTERN` are nodes; repeatable (default: VMs that report a hostname)")
	flags.StringArrayVar(&f.chosen.ControlPlane, "control-plane", nil,
		"VMs with names like `PATTERN` are control plane nodes; repeatable")
	quiet(cmd, "nodes", "control-plane")
}

// BindWrites adds the flags that allow writes.
func (f *Flags) BindWrites(cmd *cobra.Command) {
	flags := cmd.Flags()
	flags.BoolVar(&f.chosen.Scope.AllowWrites, "allow-writes", false,
		"allow changes (power, tags, disks) to real VMs in --write-folder or with --write-tag; undone at the end")
	flags.StringArrayVar(&f.chosen.Scope.Folders, "write-folder", nil,
		"allow changes to VMs in `FOLDER` and below, from the root (/dc/vm/k8s), in every vCenter; repeatable")
	flags.StringArrayVar(&f.chosen.Scope.Tags, "write-tag", nil, "allow changes to VMs with the tag `CATEGORY:TAG`; repeatable")
	flags.BoolVar(&f.chosen.Keep, "keep-writes", false, "do not undo changes to real VMs at the end")
	quiet(cmd, "write-folder", "write-tag")
}

// quiet keeps file names from being offered where none is meant.
func quiet(cmd *cobra.Command, names ...string) {
	for _, name := range names {
		// Cannot fail: the flags were added by the caller.
		_ = cmd.RegisterFlagCompletionFunc(name, cobra.NoFileCompletions)
	}
}

// IsSet reports whether real vCenters are meant.
func (f *Flags) IsSet() bool { return f.config != "" }

// ToArgs are the flags as arguments again, for another process. None of them is secret.
func (f *Flags) ToArgs() []string {
	var args []string
	add := func(name string, values ...string) {
		for _, v := range values {
			args = append(args, "--"+name+"="+v)
		}
	}
	if f.config != "" {
		add("vcenter-config", f.config)
	}
	add("folder", f.chosen.Selection.Folders...)
	add("tag", f.chosen.Selection.Tags...)
	add("vm", f.chosen.Selection.Names...)
	add("pool", f.chosen.Selection.Pools...)
	add("datacenter", f.chosen.Selection.Datacenters...)
	add("nodes", f.chosen.Nodes...)
	add("control-plane", f.chosen.ControlPlane...)
	if f.chosen.Scope.AllowWrites {
		args = append(args, "--allow-writes")
	}
	if f.chosen.Keep {
		args = append(args, "--keep-writes")
	}
	add("write-folder", f.chosen.Scope.Folders...)
	add("write-tag", f.chosen.Scope.Tags...)
	return args
}

// without is the first flag that was given although it is only about real vCenters.
func (f *Flags) without(flags *pflag.FlagSet) string {
	for _, name := range []string{
		"folder", "tag", "vm", "pool", "datacenter", "nodes", "control-plane", "allow-writes", "write-folder", "write-tag", "keep-writes",
	} {
		if flags.Changed(name) {
			return name
		}
	}
	return ""
}

// Of is the configuration that a sandbox was given: of a file, or of the environment where source is empty.
func Of(source string, getenv func(string) string) (*vcenter.Config, error) {
	if source == "" {
		return vcenter.FromEnvironment(environ(getenv))
	}
	return vcenter.LoadFile(source)
}

// beat is after how long it is said what is being waited for, and how often.
const beat = 3 * time.Second

// Progress says what is being waited for, where that takes long: a vCenter may need half a minute for an answer. On a
// terminal it is one line that changes. Make one with [NewProgress]; it may be used from any goroutine.
type Progress struct {
	w   io.Writer
	tty bool

	mu     sync.Mutex
	step   string
	since  time.Time
	shown  bool // a changing line stands
	closed bool

	done  chan struct{}
	ended sync.WaitGroup
}

// NewProgress returns one that writes to w, which is a terminal or is not. [Progress.Close] ends it.
func NewProgress(w io.Writer, tty bool) *Progress {
	p := &Progress{w: w, tty: tty, done: make(chan struct{})}
	p.ended.Go(func() {
		tick := time.NewTicker(beat)
		defer tick.Stop()
		for {
			select {
			case <-tick.C:
				p.beat()
			case <-p.done:
				return
			}
		}
	})
	return p
}

// Step says what is waited for from now on.
func (p *Progress) Step(step string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.clear()
	p.step, p.since = step, time.Now()
}

func (p *Progress) beat() {
	p.mu.Lock()
	defer p.mu.Unlock()
	took := time.Since(p.since)
	if p.closed || p.step == "" || took < beat {
		return
	}
	p.clear()
	text := fmt.Sprintf("  … %s (%.0fs)", printable.Line(p.step), took.Seconds())
	if !p.tty {
		fmt.Fprintln(p.w, text)
		return
	}
	line := []rune(text)
	fmt.Fprint(p.w, string(line[:min(len(line), 78)]))
	p.shown = true
}

// clear takes the changing line away. The lock is held.
func (p *Progress) clear() {
	if p.shown {
		fmt.Fprint(p.w, "\r\x1b[K")
		p.shown = false
	}
}

// Close ends it and takes its line away; it may be called more than once.
func (p *Progress) Close() {
	p.mu.Lock()
	if !p.closed {
		p.closed = true
		p.clear()
		close(p.done)
	}
	p.mu.Unlock()
	p.ended.Wait()
}

// UserAgent is what the program calls itself at vCenters, whose list of sessions shows it.
func UserAgent() string { return "vsphere-sandbox/" + build.Version() }

// Connect logs in at every vCenter; close logs out of all of them and is nil with an error, which is that of the first
// vCenter that refuses, and is of package report.
func Connect(ctx context.Context, c *vcenter.Config) (all []*vcenter.Connection, done func(), err error) {
	done = func() {
		for _, one := range all {
			one.Close()
		}
	}
	for _, v := range c.VCenters {
		one, err := v.Connect(ctx, vcenter.Options{UserAgent: UserAgent()})
		if err != nil {
			done()
			return nil, nil, Explain(ctx, err)
		}
		all = append(all, one)
	}
	return all, done, nil
}

// Explain gives what a real vCenter answers, or does not, a code and advice. Other errors, and nil, are returned as they
// are.
func Explain(ctx context.Context, err error) error {
	if err == nil {
		return nil
	}
	if ctx.Err() != nil {
		return ctx.Err() // what is cut off says nothing of the vCenter
	}
	if own := (*report.Error)(nil); errors.As(err, &own) {
		return err
	}
	if untrusted, ok := errors.AsType[*vcenter.UntrustedError](err); ok {
		return &report.Error{Code: "vcenter-untrusted", Message: strings.TrimSuffix(untrusted.Error(), ": "+untrusted.Try), Try: untrusted.Try}
	}
	e := &report.Error{Message: err.Error()}
	switch {
	case errors.Is(err, client.ErrCertificate):
		e.Code, e.Try = "vcenter-untrusted", "vsphere-sandbox doctor --vcenter-config FILE"
	case errors.Is(err, client.ErrInvalidLogin), errors.Is(err, client.ErrNoCredentials):
		e.Code, e.Try = "vcenter-login-refused", "check user and password; a user is written with its domain, such as cpi@vsphere.local"
	case errors.Is(err, scope.ErrRefused):
		e.Code, e.Try = "write-refused", "--allow-writes --write-folder FOLDER\n--allow-writes --write-tag CATEGORY:TAG"
	case fault.Is(err, &types.NoPermission{}):
		e.Code, e.Try = "vcenter-no-permission", "grant the account ReadOnly on the datacenters, propagating\nvsphere-sandbox doctor --vcenter-config FILE"
	case unreachable(err):
		e.Code, e.Try = "vcenter-unreachable", "check server and port, name resolution and firewalls on the way\nvsphere-sandbox doctor --vcenter-config FILE"
	default:
		return err
	}
	return e
}

// unreachable reports whether err is of the way to a vCenter, or of one that does not answer in time.
func unreachable(err error) bool {
	_, network := errors.AsType[net.Error](err)
	_, address := errors.AsType[*url.Error](err)
	return network || address || errors.Is(err, context.DeadlineExceeded)
}

// Categories are the tag categories of regions and zones.
func Categories(c *vcenter.Config) inventory.Categories {
	return inventory.Categories{Region: c.Region, Zone: c.Zone}
}

// CheckUnset is an error for a flag that means nothing without --vcenter-config, which was not given.
func (f *Flags) CheckUnset(cmd *cobra.Command) error {
	if name := f.without(cmd.Flags()); name != "" && !f.IsSet() {
		return report.UsageError("--vcenter-config FILE, or --vcenter-config "+Environment+" for govc's variables",
			"--%s is about real vCenters, and none is named", name)
	}
	return nil
}

// Complete reads the configuration and checks the flags; without --vcenter-config it reads the environment. getenv is
// os.Getenv or similar. Its errors are of package report, and have all problems of a file.
func (f *Flags) Complete(getenv func(string) string) (*real.Options, error) {
	if err := f.chosen.Selection.Check(); err != nil {
		return nil, report.UsageError("--datacenter NAME, --folder PATH, --pool PATH, --tag CATEGORY:TAG, --vm 'worker-*'", "selection of VMs: %v", err)
	}
	if err := f.checkScope(); err != nil {
		return nil, err
	}
	c := f.chosen
	var err error
	if f.config == "" || f.config == Environment {
		c.Config, err = vcenter.FromEnvironment(environ(getenv))
	} else if c.Config, err = vcenter.LoadFile(f.config); err == nil {
		c.Source, err = filepath.Abs(f.config)
	}
	if err != nil {
		return nil, f.unusable(err)
	}
	return &c, nil
}

// checkScope wants the two things that writes need: to be allowed, and somewhere.
func (f *Flags) checkScope() error {
	s := f.chosen.Scope
	named := len(s.Folders)+len(s.Tags) > 0
	switch {
	case s.AllowWrites && !named:
		return report.UsageError("--allow-writes --write-folder /dc/vm/k8s\n--allow-writes --write-tag CATEGORY:TAG",
			"--allow-writes allows nothing: it does not say to which VMs")
	case named && !s.AllowWrites:
		return report.UsageError("--allow-writes", "--write-folder and --write-tag have no effect without --allow-writes")
	}
	if f.chosen.Keep && !s.AllowWrites {
		return report.UsageError("--allow-writes", "--keep-writes has no effect without --allow-writes")
	}
	for _, folder := range s.Folders { // one that counts in every datacenter may be more than anybody thinks of
		if !strings.HasPrefix(folder, "/") {
			return report.UsageError("--write-folder /DATACENTER/vm/"+folder,
				"--write-folder %s: is written from the root, so that it is not one of each datacenter", folder)
		}
	}
	if err := s.Check(); err != nil {
		return report.UsageError("--write-folder /DATACENTER/vm/FOLDER\n--write-tag CATEGORY:TAG", "--write-folder, --write-tag: %v", err)
	}
	return nil
}

// unusable is the error for a configuration that does not name a vCenter.
func (f *Flags) unusable(err error) error {
	if f.config == "" || f.config == Environment {
		e := &report.Error{Code: "vcenter-config-invalid", Message: err.Error(), Exit: report.Usage}
		e.Try = "export GOVC_URL=HOST GOVC_USERNAME=USER GOVC_PASSWORD=…\n--vcenter-config FILE, a vsphere.conf"
		return e
	}
	e := &report.Error{Code: "vcenter-config-invalid", Message: err.Error(), Exit: report.Usage}
	if bad, ok := errors.AsType[*config.Error](err); ok {
		e.Message = f.config + " cannot be used\n" + strings.TrimSpace(bad.Error())
		e.Try = "vsphere-sandbox config validate " + f.config
	} else if _, ok := errors.AsType[*fs.PathError](err); ok {
		e.Code = "vcenter-config-unreadable"
		e.Try = "--vcenter-config FILE, a vsphere.conf with user and password\n--vcenter-config " + Environment + " for govc's variables"
	} else {
		e.Try = "vsphere-sandbox config validate " + f.config
	}
	return e
}

// environ are the variables of govc that count.
func environ(getenv func(string) string) []string {
	var all []string
	for _, name := range []string{
		"GOVC_URL", "GOVC_USERNAME", "GOVC_PASSWORD", "GOVC_INSECURE", "GOVC_DATACENTER", "GOVC_TLS_CA_CERTS", "GOVC_TLS_KNOWN_HOSTS",
	} {
		if value := getenv(name); value != "" {
			all = append(all, name+"="+value)
		}
	}
	return all
}
