package csi

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"github.com/spf13/cobra"

	"github.com/vsphere-sandbox/vsphere-sandbox/internal/carried"
	"github.com/vsphere-sandbox/vsphere-sandbox/internal/cli/complete"
	"github.com/vsphere-sandbox/vsphere-sandbox/internal/cli/component"
	"github.com/vsphere-sandbox/vsphere-sandbox/internal/cli/report"
	"github.com/vsphere-sandbox/vsphere-sandbox/internal/coded"
	"github.com/vsphere-sandbox/vsphere-sandbox/internal/csidriver"
	"github.com/vsphere-sandbox/vsphere-sandbox/internal/input"
	"github.com/vsphere-sandbox/vsphere-sandbox/internal/iostreams"
	"github.com/vsphere-sandbox/vsphere-sandbox/internal/program"
	"github.com/vsphere-sandbox/vsphere-sandbox/internal/sidecars"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/ground/kind"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/sandbox"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/sandbox/csi"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/topology"
)

// The values of --csi that name no driver of a user's.
const (
	Builtin = "builtin"
	Off     = "off"
	// None is another word for Off, as --ccm has it; for --syncer it is no syncer.
	None = "none"
)

// Flags select the CSI driver to boot with. Bind them, call Check and CheckCluster before anything is changed, and Resolve before the
// boot.
type Flags struct {
	Driver   string
	Syncer   string
	Args     []string
	Env      []string
	Config   string
	Watch    string
	Manifest string
	Replicas int // 0 is one
	Webhook  bool

	pods bool // the driver runs as pods
}

// Bind adds the flags to a command. Default is the value of --csi without the flag, "" for what a scenario needs.
func (f *Flags) Bind(cmd *cobra.Command, byDefault string) {
	flags := cmd.Flags()
	flags.StringVar(&f.Driver, "csi", byDefault, "CSI driver: "+program.Syntax+"; or off (no volumes)")
	flags.StringVar(&f.Syncer, "syncer", "", "syncer beside a CSI driver of another project, or none (default: that of the driver's release, or vsphere-syncer in its folder)")
	flags.StringArrayVar(&f.Args, "csi-arg", nil, "extra argument for the CSI controller; repeatable")
	flags.StringArrayVar(&f.Env, "csi-env", nil, "environment variable for the CSI driver, NAME=VALUE; repeatable")
	flags.StringVar(&f.Config, "csi-config", "", "csi-vsphere.conf `FILE` in place of the sandbox's configuration")
	flags.StringVar(&f.Watch, "csi-watch", "", "run the CSI driver binary at `PATH`, and restart it when the file changes")
	flags.IntVar(&f.Replicas, "csi-replicas", 1, "number of CSI controllers with their sidecars; several elect leaders")
	flags.BoolVar(&f.Webhook, "csi-webhook", false, "also run the validating webhook of another project's CSI driver: its syncer, as the release deploys it")
	flags.StringVar(&f.Manifest, "csi-manifest", "", "manifest `FILE` of another project's CSI driver: its rights; on kind, applied unchanged (default: that of the release)")
	// Their only error is an unknown flag.
	_ = cmd.RegisterFlagCompletionFunc("csi", complete.Flag(drivers))
	_ = cmd.RegisterFlagCompletionFunc("syncer", complete.Flag(syncers))
	for _, none := range []string{"csi-arg", "csi-env", "csi-replicas"} {
		_ = cmd.RegisterFlagCompletionFunc(none, complete.None)
	}
}

// Names returns the names of the flags.
func Names() []string {
	return []string{"csi", "syncer", "csi-arg", "csi-env", "csi-config", "csi-watch", "csi-manifest", "csi-replicas", "csi-webhook"}
}

// words completes the values, and the prefixes of those that take an argument.
func words(typed string, alone ...string) ([]string, cobra.ShellCompDirective) {
	var found []string
	for _, w := range append(alone, "image:", "archive:", "module:") {
		if strings.HasPrefix(w, typed) {
			found = append(found, w)
		}
	}
	return found, cobra.ShellCompDirectiveNoSpace
}

func drivers(_ *cobra.Command, _ []string, typed string) ([]string, cobra.ShellCompDirective) {
	return words(typed, Builtin, Off)
}

func syncers(_ *cobra.Command, _ []string, typed string) ([]string, cobra.ShellCompDirective) {
	return words(typed, None)
}

// Sources completes an argument that is a driver.
func Sources(_ *cobra.Command, args []string, typed string) ([]string, cobra.ShellCompDirective) {
	if len(args) > 0 {
		return nil, cobra.ShellCompDirectiveNoFileComp
	}
	return words(typed, Builtin)
}

// Disabled reports whether there is no driver.
func (f *Flags) Disabled() bool { return f.Driver == Off || f.Driver == None }

// Chosen reports whether a driver is named that is not the built-in one.
func (f *Flags) Chosen() bool {
	return f.Watch != "" || f.Driver != "" && f.Driver != Builtin && !f.Disabled()
}

// Check refuses values that there are not.
func (f *Flags) Check() error {
	if f.Disabled() {
		if f.Syncer != "" || len(f.Args) > 0 || len(f.Env) > 0 || f.Config != "" || f.Watch != "" || f.Manifest != "" || f.Replicas > 1 || f.Webhook {
			return report.UsageError("leave --csi out", "--csi %s: there is no driver that other flags could be about", f.Driver)
		}
		return nil
	}
	if _, err := f.source(); err != nil {
		return err
	}
	if f.Replicas < 0 || f.Replicas > csi.MaxReplicas {
		return report.UsageError("--csi-replicas 2", "--csi-replicas %d: want a number from 1 to %d", f.Replicas, csi.MaxReplicas)
	}
	if _, err := program.CSISyncer.Parse(f.Syncer); err != nil && f.Syncer != None {
		return Explain(err)
	}
	if f.Webhook && !f.Chosen() {
		return ownWebhook(Builtin)
	}
	if f.Webhook && f.Syncer == None {
		return report.UsageError("leave --syncer out", "--csi-webhook, --syncer none: the syncer is the program of the webhook")
	}
	if f.Manifest != "" && !f.Chosen() {
		return report.UsageError("--csi module:v3.7.0 --csi-manifest "+f.Manifest, "--csi-manifest: the built-in CSI driver has its own manifests")
	}
	if err := component.CheckProgram("csi", "CSI drivers", f.Args, f.Env, f.Watch); err != nil {
		return err
	}
	if f.Config != "" {
		if _, err := input.File(f.Config, input.MaxFile); err != nil {
			return &report.Error{Code: "usage", Message: "--csi-config", Err: err, Exit: report.Usage, Try: "--csi-config FILE that can be read"}
		}
	}
	return nil
}

// source parses the driver. A program of another project that is the name of a file needs a separator or a colon, so that a typing
// error in a word is none.
func (f *Flags) source() (program.Source, error) {
	s, err := program.CSIDriver.Parse(f.Driver)
	if err != nil {
		return s, Explain(err)
	}
	if s.Kind() == program.File && !strings.ContainsAny(f.Driver, `/\:`) {
		if _, err := os.Stat(f.Driver); err != nil {
			return s, report.UsageError("--csi "+Builtin, "--csi %s: want %s or %s", f.Driver, program.Syntax, Off)
		}
	}
	return s, nil
}

// CheckCluster refuses what cannot be done with the cluster, and notes whether the driver runs as pods there: on kind.
func (f *Flags) CheckCluster(kind bool) error {
	f.pods = kind
	if !kind || f.Disabled() {
		return nil
	}
	const try = "--cluster embedded, where it runs as a process"
	for flag, set := range map[string]bool{
		"syncer": f.Syncer != "", "csi-arg": len(f.Args) > 0, "csi-env": len(f.Env) > 0, "csi-config": f.Config != "", "csi-watch": f.Watch != "",
		"csi-replicas": f.Replicas > 1,
	} {
		if set {
			return report.UsageError(try, "--%s: with --cluster kind the CSI driver runs as pods, as its manifest says", flag)
		}
	}
	if f.Webhook {
		return report.UsageError(try, "--csi-webhook: with --cluster kind the sandbox deploys no webhook")
	}
	s, err := f.source()
	if err != nil {
		return err
	}
	switch s.Kind() {
	case program.File, program.Archive:
		return report.UsageError(try+"\n--csi image:REF --csi-manifest FILE", "--csi %s: with --cluster kind a CSI driver is an image or a release: its node service mounts disks in the nodes", f.Driver)
	case program.Image:
		if repository := s.Ref(); !strings.Contains(repository, "/") || !strings.Contains(path.Base(repository), ":") {
			return report.UsageError("--csi image:registry.k8s.io/csi-vsphere/driver:v3.7.0", "--csi %s: want an image with registry and tag", f.Driver)
		}
		if csidriver.Version(s) == "" && f.Manifest == "" {
			return report.UsageError("--csi-manifest FILE", "--csi %s: its tag does not say which release it is, so name the manifest to deploy it with", f.Driver)
		}
	case program.Builtin, program.Module:
	}
	return nil
}

// CheckTopology refuses what cannot be done with the topology; nil is none.
func (f *Flags) CheckTopology(t *topology.Topology) error {
	if !f.Webhook || t == nil || t.Spec.Supervisor == nil {
		return nil
	}
	return report.UsageError("leave --csi-webhook out, or use a topology without a Supervisor", "--csi-webhook: %s", csi.NoGuestWebhook)
}

// ToArgs returns the arguments that say the same to another process; none for the default, which is the built-in driver.
func (f *Flags) ToArgs() []string {
	var args []string
	if f.Driver != "" && f.Driver != Builtin {
		args = append(args, "--csi="+f.Driver)
	}
	for _, one := range []struct{ flag, value string }{
		{"syncer", f.Syncer}, {"csi-config", f.Config}, {"csi-watch", f.Watch}, {"csi-manifest", f.Manifest},
	} {
		if one.value != "" {
			args = append(args, "--"+one.flag+"="+one.value)
		}
	}
	if f.Replicas > 1 {
		args = append(args, "--csi-replicas="+strconv.Itoa(f.Replicas))
	}
	if f.Webhook {
		args = append(args, "--csi-webhook")
	}
	for _, a := range f.Args {
		args = append(args, "--csi-arg="+a)
	}
	for _, v := range f.Env {
		args = append(args, "--csi-env="+v)
	}
	return args
}

// Resolve finds or builds what is needed, which may take minutes, and prints progress on streams.Err.
func (f *Flags) Resolve(ctx context.Context, streams *iostreams.Streams) (sandbox.CSI, error) {
	if f.Disabled() {
		return sandbox.CSI{}, nil
	}
	found, err := sidecars.Find(ctx)
	if missing, ok := errors.AsType[*carried.NotFoundError](err); ok {
		return sandbox.CSI{}, &report.Error{Code: "no-sidecars", Message: "no volumes", Try: missing.Try() + "\nvsphere-sandbox up --csi off", Exit: report.Prerequisite, Err: err}
	}
	if full, ok := errors.AsType[*carried.NoRoomError](err); ok {
		return sandbox.CSI{}, &report.Error{Code: "no-room", Message: "the CSI sidecars cannot be unpacked", Try: full.Try(), Exit: report.Prerequisite, Err: err}
	}
	if err != nil {
		return sandbox.CSI{}, err
	}
	c := sandbox.CSI{Enabled: true, Sidecars: found}
	if f.pods {
		if f.Chosen() {
			c.Foreign, err = f.foreign(ctx, streams)
		}
		return c, err
	}
	c.Options, err = f.options(ctx, streams)
	return c, err
}

// options finds the programs of a driver that runs as processes.
func (f *Flags) options(ctx context.Context, streams *iostreams.Streams) (csi.Options, error) {
	o := csi.Options{Args: f.Args, Env: f.Env, Replicas: f.Replicas, Webhook: f.Webhook}
	var err error
	if f.Config != "" {
		if o.ConfigFile, err = filepath.Abs(f.Config); err != nil {
			return o, err
		}
	}
	text := f.Driver
	if f.Watch != "" {
		if o.Watch, err = filepath.Abs(f.Watch); err != nil {
			return o, err
		}
		if _, err := os.Stat(o.Watch); (text == "" || text == Builtin) && err == nil { // else the built-in one, until there is one
			text = o.Watch
		}
	}
	source, err := program.CSIDriver.Parse(text)
	if err != nil {
		return o, Explain(err)
	}
	say := progress(streams)
	if o.Program, err = source.Resolve(ctx, say); err != nil {
		return o, Explain(err)
	}
	if f.Replicas > 1 && !o.Program.Own && o.Program.Path != "" {
		return o, report.UsageError("--csi-replicas 1", "--csi-replicas %d: %s", f.Replicas, csi.OnePerMachine)
	}
	if o.Program.Own && f.Webhook {
		return o, ownWebhook(cmp.Or(f.Watch, f.Driver))
	}
	if o.Program.Own && f.Watch == "" {
		return o, nil
	}
	beside, err := f.syncer(source)
	if err != nil {
		return o, Explain(err)
	}
	if beside != (program.Source{}) {
		if o.Syncer, err = beside.Resolve(ctx, say); err != nil {
			return o, Explain(err)
		}
	}
	if o.Manifest, err = f.manifest(ctx, csidriver.Version(source), say); err != nil || !f.Webhook {
		return o, err
	}
	if o.Syncer.Path == "" {
		return o, report.UsageError("--syncer PATH", "--csi-webhook: %s has no syncer beside it, which is the program of the webhook", o.Name())
	}
	o.WebhookManifest, err = f.webhookManifest(ctx, csidriver.Version(source), say)
	return o, err
}

// ownWebhook is the error for a driver of this project.
func ownWebhook(name string) error {
	return report.UsageError("--csi module:v3.7.0 --csi-webhook", "--csi-webhook: %s is a driver of this project, which has no webhook: it refuses the same requests later, as docs/storage.md lists", name)
}

// webhookManifest returns what has the registration and the rights of the webhook: the file that was named if it has them, or the
// manifest of the release. It is nil if neither can be had.
func (f *Flags) webhookManifest(ctx context.Context, version string, o program.Options) ([]byte, error) {
	if f.Manifest != "" {
		text, err := f.manifest(ctx, "", o)
		if err != nil || bytes.Contains(text, []byte("ValidatingWebhookConfiguration")) {
			return text, err
		}
	}
	if version == "" {
		return nil, nil
	}
	text, err := csidriver.WebhookManifest(ctx, version, o)
	if coded.Is(err, program.GoMissing) {
		return nil, nil
	}
	return text, Explain(err)
}

// syncer returns the source of the syncer beside a driver; the zero value for none.
func (f *Flags) syncer(driver program.Source) (program.Source, error) {
	switch {
	case f.Syncer == None:
		return program.Source{}, nil
	case f.Syncer != "":
		return program.CSISyncer.Parse(f.Syncer)
	}
	switch driver.Kind() {
	case program.Module:
		return program.CSISyncer.Parse(driver.String())
	case program.Image:
		if at := strings.LastIndex(driver.Ref(), "/driver:"); at >= 0 { // as upstream's are called
			return program.CSISyncer.Parse("image:" + driver.Ref()[:at] + "/syncer:" + driver.Ref()[at+len("/driver:"):])
		}
	case program.File:
		for _, name := range []string{program.CSISyncer.File(), "syncer"} {
			beside := filepath.Join(filepath.Dir(driver.Ref()), name)
			if info, err := os.Stat(beside); err == nil && info.Mode().IsRegular() {
				return program.CSISyncer.Parse("file:" + beside)
			}
		}
	case program.Builtin, program.Archive:
	}
	return program.Source{}, nil
}

// manifest returns what grants the rights of a driver: the file that was named, or that of a release. It is nil if neither can be
// had.
func (f *Flags) manifest(ctx context.Context, version string, o program.Options) ([]byte, error) {
	if f.Manifest != "" {
		text, err := input.File(f.Manifest, input.MaxFile)
		if err != nil {
			return nil, &report.Error{Code: "usage", Message: "--csi-manifest", Err: err, Exit: report.Usage, Try: "--csi-manifest FILE that can be read, or leave it out for the release's own"}
		}
		return text, nil
	}
	if version == "" {
		return nil, nil
	}
	text, err := csidriver.Manifest(ctx, version, o)
	if coded.Is(err, program.GoMissing) && !f.pods { // an image needs no toolchain; the rights are those of another release then
		return nil, nil
	}
	return text, Explain(err)
}

func progress(streams *iostreams.Streams) program.Options {
	return program.Options{Progress: func(text string) { fmt.Fprintf(streams.Err, "  … csi: %s\n", text) }}
}

// foreign finds a driver that runs as pods: its manifest, and programs that are built.
func (f *Flags) foreign(ctx context.Context, streams *iostreams.Streams) (*kind.ForeignCSI, error) {
	source, err := f.source()
	if err != nil {
		return nil, err
	}
	found := &kind.ForeignCSI{Source: source.String()}
	say := progress(streams)
	if found.Manifest, err = f.manifest(ctx, csidriver.Version(source), say); err != nil {
		return nil, err
	}
	found.Released = f.Manifest == ""
	if source.Kind() == program.Image {
		found.Image = source.Ref()
		return found, nil
	}
	programs, err := csidriver.Build(ctx, csidriver.Version(source), say)
	if err != nil {
		return nil, Explain(err)
	}
	found.Programs = []kind.CSIProgram{
		{File: programs.Driver, At: "/bin/" + program.CSIDriver.File(), Repository: "driver", Formats: true},
		{File: programs.Syncer, At: "/bin/" + program.CSISyncer.File(), Repository: "syncer"},
	}
	return found, nil
}

// Planned returns what [Flags.Resolve] would return for another project's driver on kind, without downloads and builds: enough
// for a plan. It returns nil for other drivers.
func (f *Flags) Planned() *kind.ForeignCSI {
	if !f.Chosen() {
		return nil
	}
	return &kind.ForeignCSI{Source: f.Driver}
}

// Find checks that there is what the flags name, before anything is downloaded or built, which takes minutes.
func (f *Flags) Find(ctx context.Context) error {
	if f.Disabled() {
		return nil
	}
	source, err := f.source()
	if err == nil {
		err = Explain(source.Find(ctx, program.Options{}))
	}
	return err
}

// Explain gives an error about a source its exit status: asked wrongly, or what this machine does not have.
func Explain(err error) error {
	return report.Coded(err, report.Usage, map[string]int{
		program.GoMissing: report.Prerequisite, "csi-" + program.ImageRefused: report.Prerequisite, "csi-" + program.BuildFailed: report.Failure,
	})
}

// Judged returns the flags for a sandbox in which a scenario needs the driver "builtin", "off" or "": the driver of the flags
// takes the place of the built-in one.
func (f *Flags) Judged(needed string, replicas int) *Flags {
	if needed == "" || needed == Off {
		return &Flags{Driver: Off, pods: f.pods}
	}
	judged := *f
	judged.Args, judged.Env = slices.Clone(f.Args), slices.Clone(f.Env)
	if judged.Driver == "" {
		judged.Driver = needed
	}
	if judged.Replicas <= 1 {
		judged.Replicas = replicas
	}
	return &judged
}
