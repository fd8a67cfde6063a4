package vcenterconfig

import (
	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/sandbox"
)

// Environment as the value of --vcenter-config stands for govc's variables. They count only where they are asked for:
// those of a shell may well lead to a simulated vCenter, or to one that nobody thinks of.
const Environment = "env"

// Flags say which vCenters, VMs, nodes and writes. The zero value is ready for [Flags.Bind].
type Flags struct {
	config string
	chosen sandbox.Real // but for Config
}

// Bind adds the flags of vCenters and of their VMs to a command.
func (f *Flags) Bind(cmd *cobra.Command) {
	flags := cmd.Flags()
	flags.StringVar(&f.config, "vcenter-config", "",
		"real vCenters: a vsphere.conf as `FILE`, or \""+Environment+"\" for govc's variables (GOVC_URL and so on)")
	flags.StringArrayVar(&f.chosen.Selection.Folders, "folder", nil,
		"VMs in this `FOLDER` and below: a path below any datacenter's VM folder, or from the root (/dc/vm/k8s); repeat it for more")
	flags.StringArrayVar(&f.chosen.Selection.Tags, "tag", nil, "VMs with this tag, `CATEGORY:TAG`; repeat it for more")
	flags.StringArrayVar(&f.chosen.Selection.Names, "vm", nil, "VMs of this name, a `PATTERN` with * and ?; repeat it for more")
	flags.StringArrayVar(&f.chosen.Selection.Pools, "pool", nil, "VMs in this resource `POOL` and below; repeat it for more")
	flags.StringArrayVar(&f.chosen.Selection.Datacenters, "datacenter", nil, "VMs of this `DATACENTER`; repeat it for more")
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
		"VMs whose name is of this `PATTERN` are nodes; repeat it for more (default: those that report a hostname)")
	flags.StringArrayVar(&f.chosen.ControlPlane, "control-plane", nil,
		"VMs whose name is of this `PATTERN` are control plane nodes; repeat it for more")
	quiet(cmd, "nodes", "control-plane")
}

// BindWrites adds the flags that allow writes.
func (f *Flags) BindWrites(cmd *cobra.Command) {
	flags := cmd.Flags()
	flags.BoolVar(&f.chosen.Scope.AllowWrites, "allow-writes", false,
		"let real VMs be written to (power, tags, disks), where --write-folder or --write-tag says; it is taken back at the end")
	flags.StringArrayVar(&f.chosen.Scope.Folders, "write-folder", nil,
		"`FOLDER` whose VMs, and those below, may be written to, from the root (/dc/vm/k8s), in every vCenter; repeat it for more")
	flags.StringArrayVar(&f.chosen.Scope.Tags, "write-tag", nil, "VMs with this tag, `CATEGORY:TAG`, may be written to; repeat it for more")
	flags.BoolVar(&f.chosen.Keep, "keep-writes", false, "leave real VMs at the end as they are then, in place of taking back what was written")
	quiet(cmd, "write-folder", "write-tag")
}

// quiet keeps file names from being offered where none is meant.
func quiet(cmd *cobra.Command, names ...string) {
	for _, name := range names {
		// Cannot fail: the flags were added by the caller.
		_ = cmd.RegisterFlagCompletionFunc(name, cobra.NoFileCompletions)
	}
}

// Asked tells whether real vCenters are meant.
func (f *Flags) Asked() bool { return f.config != "" }

// Args are the flags as arguments again, for another process. None of them is secret.
func (f *Flags) Args() []string {
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
