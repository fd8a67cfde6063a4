package ccm

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"github.com/spf13/cobra"

	"github.com/vsphere-sandbox/vsphere-sandbox/internal/cli/command"
	"github.com/vsphere-sandbox/vsphere-sandbox/internal/cli/complete"
	"github.com/vsphere-sandbox/vsphere-sandbox/internal/cli/component"
	"github.com/vsphere-sandbox/vsphere-sandbox/internal/cli/report"
	"github.com/vsphere-sandbox/vsphere-sandbox/internal/iostreams"
	programs "github.com/vsphere-sandbox/vsphere-sandbox/internal/program"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/sandbox"
	"github.com/vsphere-sandbox/vsphere-sandbox/scenarios"
)

// Flags select the cloud controller manager to boot with. Bind them, call Check before anything is changed, and Resolve
// before the boot.
type Flags struct {
	Source   string
	Args     []string
	Env      []string
	Replicas int
	Watch    string
	Manifest string
	// MayBeNone has Source be [None], too. Set it before Bind.
	MayBeNone bool
}

// None is the source that stands for no cloud controller manager, until one is swapped in.
const None = "none"

// None reports whether to boot without one.
func (f *Flags) None() bool { return f.MayBeNone && f.Source == None }

// watchSource is the value of --ccm-watch that stands for the program of --ccm.
const watchSource = ":ccm"

// WatchArgs gives --ccm-watch a value where the command line has none: "--ccm bin/x --ccm-watch" and "--ccm-watch --ccm bin/x" watch
// bin/x. A word behind --ccm-watch is its value, unless it is a flag or, where --ccm names a program, a built-in topology.
func WatchArgs(args []string) []string {
	at := slices.Index(args, "--ccm-watch")
	if at < 0 || slices.Contains(args[:at], "--") {
		return args
	}
	bare := at+1 == len(args) || strings.HasPrefix(args[at+1], "-")
	if !bare && slices.Contains(scenarios.Names(), args[at+1]) {
		bare = slices.ContainsFunc(args, func(a string) bool { return a == "--ccm" || strings.HasPrefix(a, "--ccm=") })
	}
	if !bare {
		return args
	}
	args = slices.Clone(args)
	args[at] += "=" + watchSource
	return args
}

// Bind adds the flags to a command.
func (f *Flags) Bind(cmd *cobra.Command) {
	flags := cmd.Flags()
	help := "cloud controller manager to run: " + programs.Syntax + " (default builtin)"
	if f.MayBeNone {
		help += "; or none, until \"ccm swap\""
	}
	flags.StringVar(&f.Source, "ccm", "", help)
	flags.StringArrayVar(&f.Args, "ccm-arg", nil, "extra argument for the CCM; repeatable")
	flags.StringArrayVar(&f.Env, "ccm-env", nil, "environment variable for the CCM, NAME=VALUE; repeatable")
	flags.IntVar(&f.Replicas, "ccm-replicas", 1, "number of CCM replicas; several elect a leader")
	flags.StringVar(&f.Watch, "ccm-watch", "", "run the CCM binary at `PATH`, and restart it when the file changes; without a PATH, the one of --ccm")

	flags.StringVar(&f.Manifest, "ccm-manifest", "", "kind: manifest that deploys the CCM, unchanged (default: that of the release)")
	words := Sources
	if f.MayBeNone {
		words = sourcesOrNone
	}
	_ = cmd.RegisterFlagCompletionFunc("ccm", complete.Flag(words)) // its only error is an unknown flag
	for _, none := range []string{"ccm-arg", "ccm-env", "ccm-replicas"} {
		_ = cmd.RegisterFlagCompletionFunc(none, complete.None)
	}
}

// Sources completes the beginnings of sources, and files.
func Sources(_ *cobra.Command, args []string, typed string) ([]string, cobra.ShellCompDirective) {
	if len(args) > 0 {
		return nil, cobra.ShellCompDirectiveNoFileComp
	}
	var words []string
	for _, w := range []string{"builtin", "image:", "archive:", "module:"} {
		if strings.HasPrefix(w, typed) {
			words = append(words, w)
		}
	}
	return words, cobra.ShellCompDirectiveNoSpace
}

// sourcesOrNone is [Sources] where there may be none.
func sourcesOrNone(cmd *cobra.Command, args []string, typed string) ([]string, cobra.ShellCompDirective) {
	words, directive := Sources(cmd, args, typed)
	if strings.HasPrefix(None, typed) {
		words = append(words, None)
	}
	return words, directive
}

// Check refuses what cannot be right, as a usage error.
func (f *Flags) Check() error {
	if f.None() {
		if len(f.Args) > 0 || len(f.Env) > 0 || f.Replicas > 1 || f.Watch != "" || f.Manifest != "" {
			return report.UsageError("vsphere-sandbox ccm swap, with them, later", "--ccm none: there is nothing that other flags could be about")
		}
		return nil
	}
	if _, err := programs.CCM.Parse(f.Source); err != nil {
		return Explain(err)
	}
	if f.Replicas < 1 || f.Replicas > 9 {
		return report.UsageError("--ccm-replicas 2", "--ccm-replicas %d: want a number from 1 to 9", f.Replicas)
	}
	if f.Watch == watchSource {
		source, err := programs.CCM.Parse(f.Source)
		if err != nil || source.Kind() != programs.File {
			return report.UsageError(command.Program+" up --ccm-watch bin/my-ccm", "--ccm-watch needs the PATH of a program that you build, or --ccm with one")
		}
		f.Watch, f.Source = strings.TrimPrefix(f.Source, "file:"), "" // it runs from the beginning if it is there
	}
	return component.CheckProgram("ccm", "cloud controller managers", f.Args, f.Env, f.Watch)
}

// Resolve finds or builds the program, which may take minutes, and prints progress on streams.Err.
func (f *Flags) Resolve(ctx context.Context, streams *iostreams.Streams) (sandbox.CCM, error) {
	if f.None() {
		return sandbox.CCM{None: true}, nil
	}
	c := sandbox.CCM{Args: f.Args, Env: f.Env, Replicas: f.Replicas}
	text := f.Source
	if f.Watch != "" {
		watch, err := filepath.Abs(f.Watch)
		if err != nil {
			return c, err
		}
		c.Watch = watch
		if _, err := os.Stat(watch); text == "" && err == nil { // else the built-in one, until there is one
			text = watch
		}
	}
	program, err := resolve(ctx, text, streams)
	c.Program = program
	return c, err
}

// ToArgs are the arguments that say the same.
func (f *Flags) ToArgs() []string {
	var args []string
	if f.Source != "" {
		args = append(args, "--ccm="+f.Source)
	}
	for _, a := range f.Args {
		args = append(args, "--ccm-arg="+a)
	}
	for _, v := range f.Env {
		args = append(args, "--ccm-env="+v)
	}
	if f.Replicas > 1 {
		args = append(args, "--ccm-replicas="+strconv.Itoa(f.Replicas))
	}
	if f.Watch != "" {
		args = append(args, "--ccm-watch="+f.Watch)
	}
	if f.Manifest != "" {
		args = append(args, "--ccm-manifest="+f.Manifest)
	}
	return args
}

// resolve finds the program that text names.
func resolve(ctx context.Context, text string, streams *iostreams.Streams) (programs.Program, error) {
	source, err := programs.CCM.Parse(text)
	if err != nil {
		return programs.Program{}, Explain(err)
	}
	p, err := source.Resolve(ctx, programs.Options{Progress: func(said string) { fmt.Fprintf(streams.Err, "  … ccm: %s\n", said) }})
	return p, Explain(err)
}

// Find checks that there is what each of several sources names, before one of them is downloaded or built, which takes minutes.
func Find(ctx context.Context, sources ...string) error {
	for _, text := range sources {
		source, err := programs.CCM.Parse(text)
		if err == nil {
			err = source.Find(ctx, programs.Options{})
		}
		if err != nil {
			return Explain(err)
		}
	}
	return nil
}

// Explain gives an error about a source its exit status: asked wrongly, or what this machine does not have.
func Explain(err error) error {
	return report.Coded(err, report.Usage, map[string]int{
		"go-missing": report.Prerequisite, "ccm-image-refused": report.Prerequisite, "ccm-build-failed": report.Failure,
	})
}
