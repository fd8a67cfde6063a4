package csi

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"github.com/vsphere-sandbox/vsphere-sandbox/internal/carried"
	"github.com/vsphere-sandbox/vsphere-sandbox/internal/cli/complete"
	"github.com/vsphere-sandbox/vsphere-sandbox/internal/cli/report"
	"github.com/vsphere-sandbox/vsphere-sandbox/internal/csidriver"
	"github.com/vsphere-sandbox/vsphere-sandbox/internal/input"
	"github.com/vsphere-sandbox/vsphere-sandbox/internal/iostreams"
	"github.com/vsphere-sandbox/vsphere-sandbox/internal/sidecars"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/ground/kind"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/sandbox"
)

// The values of --csi that name no driver of another project.
const (
	Builtin = "builtin"
	Off     = "off"
)

// Flags are the flags of the CSI driver. Bind them, call Check before anything is changed, and Resolve before the boot.
type Flags struct {
	Driver   string
	Manifest string
}

// Bind adds them to a command.
func (f *Flags) Bind(cmd *cobra.Command) {
	flags := cmd.Flags()
	flags.StringVar(&f.Driver, "csi", Builtin, "CSI driver: builtin, off (no volumes) or, on kind, upstream's: "+csidriver.Syntax)
	flags.StringVar(&f.Manifest, "csi-manifest", "", "kind: manifest that deploys the CSI driver, unchanged (default: that of the release)")
	// Cannot fail: the flag was added above.
	_ = cmd.RegisterFlagCompletionFunc("csi", complete.Flag(drivers))
}

// drivers completes the values, and the prefixes of those that take an argument.
func drivers(_ *cobra.Command, _ []string, typed string) ([]string, cobra.ShellCompDirective) {
	var words []string
	directive := cobra.ShellCompDirectiveNoFileComp
	for _, w := range []string{Builtin, Off, "image:", "module:"} {
		if strings.HasPrefix(w, typed) {
			words = append(words, w)
			if strings.HasSuffix(w, ":") {
				directive |= cobra.ShellCompDirectiveNoSpace
			}
		}
	}
	return words, directive
}

// Foreign reports whether it is a driver that is not ours.
func (f *Flags) Foreign() bool { return f.Driver != "" && f.Driver != Builtin && f.Driver != Off }

// Check refuses values that there are not.
func (f *Flags) Check() error {
	if !f.Foreign() {
		if f.Manifest != "" {
			return report.UsageError("--csi module:v3.7.0 --csi-manifest "+f.Manifest, "--csi-manifest: the built-in CSI driver has its own manifests")
		}
		return nil
	}
	if !strings.Contains(f.Driver, ":") {
		return report.UsageError("--csi "+Builtin, "--csi %s: want %s, %s, %s", f.Driver, Builtin, Off, csidriver.Syntax)
	}
	source, err := csidriver.Parse(f.Driver)
	if err != nil {
		return explain(err)
	}
	if source.Version() == "" && f.Manifest == "" {
		return report.UsageError("--csi-manifest FILE", "--csi %s: its tag does not say which release it is, so name the manifest to deploy it with", f.Driver)
	}
	return nil
}

// CheckCluster refuses a driver that is not ours where it cannot run: it is deployed as pods, on nodes that have devices and mounts.
func (f *Flags) CheckCluster(kind bool) error {
	if f.Foreign() && !kind {
		return report.UsageError("--cluster kind --csi "+f.Driver+"\nmake csi-upstream   # which tries it on the default ground, as processes",
			"--csi %s is for --cluster kind: its node service mounts disks, and only there nodes have any", f.Driver)
	}
	return nil
}

// ToArgs are the arguments that say the same to another process; none for the default.
func (f *Flags) ToArgs() []string {
	if f.Driver == "" || f.Driver == Builtin {
		return nil
	}
	args := []string{"--csi", f.Driver}
	if f.Manifest != "" {
		args = append(args, "--csi-manifest", f.Manifest)
	}
	return args
}

// Resolve finds or builds what is needed, which may take minutes, and prints progress on streams.Err.
func (f *Flags) Resolve(ctx context.Context, streams *iostreams.Streams) (sandbox.CSI, error) {
	if f.Driver == Off {
		return sandbox.CSI{}, nil
	}
	program, err := sidecars.Find(ctx)
	if missing, ok := errors.AsType[*carried.NotFoundError](err); ok {
		return sandbox.CSI{}, &report.Error{Code: "no-sidecars", Message: "no volumes", Try: missing.Try() + "\nvsphere-sandbox up --csi off", Exit: report.Prerequisite, Err: err}
	}
	if full, ok := errors.AsType[*carried.NoRoomError](err); ok {
		return sandbox.CSI{}, &report.Error{Code: "no-room", Message: "the CSI sidecars cannot be unpacked", Try: full.Try(), Exit: report.Prerequisite, Err: err}
	}
	if err != nil {
		return sandbox.CSI{}, err
	}
	c := sandbox.CSI{Enabled: true, Sidecars: program}
	if f.Foreign() {
		c.Foreign, err = f.foreign(ctx, streams)
	}
	return c, err
}

// foreign finds a driver that is not ours: its manifest, and programs that are built.
func (f *Flags) foreign(ctx context.Context, streams *iostreams.Streams) (*kind.ForeignCSI, error) {
	source, err := csidriver.Parse(f.Driver)
	if err != nil {
		return nil, explain(err)
	}
	found := &kind.ForeignCSI{Source: source.String()}
	o := csidriver.Options{Progress: func(format string, args ...any) { fmt.Fprintf(streams.Err, "  … csi: "+format+"\n", args...) }}
	if f.Manifest != "" {
		if found.Manifest, err = input.File(f.Manifest, input.MaxFile); err != nil {
			return nil, &report.Error{Code: "usage", Message: "--csi-manifest", Err: err, Exit: report.Usage, Try: "--csi-manifest FILE that can be read, or leave it out for the release's own"}
		}
	} else if found.Manifest, err = csidriver.Manifest(ctx, source.Version(), o); err != nil {
		return nil, explain(err)
	}
	switch source.Kind() {
	case csidriver.Image:
		found.Image = source.Ref()
	case csidriver.Module:
		programs, err := csidriver.Build(ctx, source.Version(), o)
		if err != nil {
			return nil, explain(err)
		}
		found.Programs = []kind.CSIProgram{
			{File: programs.Driver, At: "/bin/" + csidriver.Driver, Repository: "driver", Formats: true},
			{File: programs.Syncer, At: "/bin/" + csidriver.Syncer, Repository: "syncer"},
		}
	}
	return found, nil
}

// Planned returns what [Flags.Resolve] would return for another project's driver, without downloads and builds: enough
// for a plan. It returns nil for other drivers.
func (f *Flags) Planned() *kind.ForeignCSI {
	if !f.Foreign() {
		return nil
	}
	return &kind.ForeignCSI{Source: f.Driver}
}

// explain gives an error about a source its exit status: asked wrongly, or what this machine does not have.
func explain(err error) error {
	return report.Coded(err, report.Usage, map[string]int{csidriver.GoMissing: report.Prerequisite, csidriver.BuildFailed: report.Failure})
}
