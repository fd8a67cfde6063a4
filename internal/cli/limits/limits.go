// Package limits is the flags and the words of the checks that a command makes before it boots a sandbox: whether the
// machine has what the sandbox takes. The checks themselves are in internal/preflight.
//
//	var f limits.Flags
//	f.Bind(cmd)      // --ignore-preflight-errors
//	f.BindPort(cmd)  // --vcenter-port
//	err := f.Check() // of the flags
//	err = f.Run(ctx, limits.SizeOf(opts, root), note)
//
// Floor 5.
package limits

import (
	"cmp"
	"context"
	"fmt"
	"runtime"
	"slices"
	"strconv"
	"strings"

	"github.com/spf13/cobra"

	"github.com/vsphere-sandbox/vsphere-sandbox/internal/cli/complete"
	"github.com/vsphere-sandbox/vsphere-sandbox/internal/cli/report"
	"github.com/vsphere-sandbox/vsphere-sandbox/internal/loopback"
	"github.com/vsphere-sandbox/vsphere-sandbox/internal/nearest"
	"github.com/vsphere-sandbox/vsphere-sandbox/internal/preflight"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/sandbox"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/sandbox/snapshot"
)

// Flags are the flags. The zero value ignores nothing and has the default port.
type Flags struct {
	// Ignored are names of checks that do not keep a sandbox from booting, or "all".
	Ignored []string
	// Machine is read in place of this one, for tests. Optional.
	Machine *preflight.Host

	port  int
	bound bool // port is what the flag says
}

const (
	ignoreFlag = "ignore-preflight-errors"
	portFlag   = "vcenter-port"
	all        = "all"
)

// Bind adds the flag that every command has which boots a sandbox.
func (f *Flags) Bind(cmd *cobra.Command) {
	cmd.Flags().StringSliceVar(&f.Ignored, ignoreFlag, nil, "ignore failures of these preflight checks: `NAMES` of "+strings.Join(preflight.Names(), ", ")+", or "+all)
	_ = cmd.RegisterFlagCompletionFunc(ignoreFlag, cobra.FixedCompletions(append(preflight.Names(), all), cobra.ShellCompDirectiveNoFileComp)) // its only error is an unknown flag
}

// BindPort adds the port of vCenters.
func (f *Flags) BindPort(cmd *cobra.Command) {
	f.bound = true
	cmd.Flags().IntVar(&f.port, portFlag, loopback.DefaultPort, "port of every vCenter; each has its own loopback address (0: any free port)")
	_ = cmd.RegisterFlagCompletionFunc(portFlag, complete.None) // its only error is an unknown flag
}

// Check refuses what cannot be right.
func (f *Flags) Check() error {
	for _, name := range f.Ignored {
		known := append(preflight.Names(), all)
		if slices.Contains(known, name) {
			continue
		}
		near := nearest.Of(name, known)
		near = cmp.Or(near, all)
		return report.UsageError("--"+ignoreFlag+" "+near, "--%s %q: want %s", ignoreFlag, name, strings.Join(known, ", "))
	}
	if f.port < 0 || f.port > 65535 {
		return report.UsageError("--"+portFlag+" 8443, or 0 for free ones", "--%s %d: want a number from 0 to 65535", portFlag, f.port)
	}
	return nil
}

// Port is the port of vCenters, as sandbox.Options has it. The flags have been checked.
func (f *Flags) Port() int {
	switch {
	case !f.bound:
		return loopback.DefaultPort
	case f.port == 0:
		return loopback.AnyPort
	default:
		return f.port
	}
}

// Place is where the vCenters of a sandbox below a state root listen: not where those of stopped ones will again.
func (f *Flags) Place(root string) (loopback.Place, error) {
	reserved, err := snapshot.Reserved(root)
	return loopback.Place{Port: f.Port(), Reserved: reserved}, err
}

// ToArgs are the arguments that say the same to another process; none for the defaults.
func (f *Flags) ToArgs() []string {
	var args []string
	if len(f.Ignored) > 0 {
		args = append(args, "--"+ignoreFlag+"="+strings.Join(f.Ignored, ","))
	}
	if f.Port() != loopback.DefaultPort {
		args = append(args, "--"+portFlag+"="+strconv.Itoa(f.port))
	}
	return args
}

// SizeOf is the size of a sandbox whose directory is made below root.
func SizeOf(o sandbox.Options, root string) preflight.Size {
	s := preflight.Size{
		Cluster:  !o.VCentersOnly && o.Cluster.Embedded(),
		VCenters: len(o.Topology.Spec.VCenters), Place: o.Place, Stopped: o.From != nil && len(o.Place.Addresses) > 0, APIPort: o.Port, Dir: root,
	}
	if o.Real == nil {
		s.VMs = o.Topology.Count().VMs
	}
	if !s.Cluster {
		return s
	}
	s.CSI = o.CSI.Enabled
	if !o.CCM.None {
		s.CCMs = max(1, o.CCM.Replicas)
	}
	for _, n := range o.Topology.Nodes() {
		if o.Light || n.VM.IsLight() {
			s.Light++
		} else {
			s.Nodes++
		}
	}
	return s
}

// Run checks the machine. Its error has all that fails and is not ignored; note gets what may run short, and what fails and
// is ignored.
func (f *Flags) Run(ctx context.Context, size preflight.Size, note func(text string)) error {
	m := preflight.Here()
	if f.Machine != nil {
		m = *f.Machine
	}
	var failed []preflight.Finding
	for _, found := range preflight.Check(ctx, m, preflight.NeedOf(size, runtime.GOMAXPROCS(0))) {
		switch ignored := slices.Contains(f.Ignored, found.Check) || slices.Contains(f.Ignored, all); {
		case found.Verdict == preflight.Fail && !ignored:
			failed = append(failed, found)
		case found.Verdict != preflight.Pass && found.Check != preflight.Loopback, found.Verdict == preflight.Fail:
			note(found.Check + ": " + found.Message) // that addresses are shared, the boot says
		}
	}
	if ctx.Err() != nil {
		return ctx.Err()
	}
	return explain(failed)
}

// explain is the error of what fails, nil for nothing.
func explain(failed []preflight.Finding) error {
	if len(failed) == 0 {
		return nil
	}
	e := &report.Error{Code: "port-in-use", Exit: report.Prerequisite}
	var said, tries, names []string
	for _, f := range failed {
		if f.Check != preflight.Ports {
			e.Code = "machine-limits"
		}
		said = append(said, f.Check+": "+f.Message)
		if !slices.Contains(tries, f.Try) {
			tries = append(tries, f.Try)
		}
		if !slices.Contains(names, f.Check) {
			names = append(names, f.Check)
		}
	}
	switch {
	case e.Code == "port-in-use":
		e.Message = failed[0].Message
		for _, f := range failed[1:] {
			e.Message += "; " + f.Message
		}
	case len(said) == 1:
		e.Message = "this machine has too little for the sandbox: " + said[0]
	default:
		e.Message = "this machine has too little for the sandbox:\n  " + strings.Join(said, "\n  ")
	}
	if e.Code != "port-in-use" { // with a port that is taken, nothing boots
		tries = append(tries, fmt.Sprintf("--%s=%s   # to boot anyway", ignoreFlag, strings.Join(names, ",")))
	}
	e.Try = strings.Join(tries, "\n")
	return e
}
