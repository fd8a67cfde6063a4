package vcenter

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"net"
	"net/url"
	"os"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/vsphere-sandbox/vsphere-sandbox/internal/atomicfile"
	"github.com/vsphere-sandbox/vsphere-sandbox/internal/backoff"
	"github.com/vsphere-sandbox/vsphere-sandbox/internal/cli/command"
	"github.com/vsphere-sandbox/vsphere-sandbox/internal/cli/complete"
	"github.com/vsphere-sandbox/vsphere-sandbox/internal/cli/limits"
	"github.com/vsphere-sandbox/vsphere-sandbox/internal/cli/output"
	"github.com/vsphere-sandbox/vsphere-sandbox/internal/cli/report"
	"github.com/vsphere-sandbox/vsphere-sandbox/internal/cli/source"
	"github.com/vsphere-sandbox/vsphere-sandbox/internal/cli/up"
	"github.com/vsphere-sandbox/vsphere-sandbox/internal/cli/vcsim"
	"github.com/vsphere-sandbox/vsphere-sandbox/internal/pace"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/sandbox/api"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/sim"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/topology"
	"github.com/vsphere-sandbox/vsphere-sandbox/scenarios"
)

// upOptions are those of "vcenter up", which boots separate vCenters, or brings those of a sandbox back.
type upOptions struct {
	*options
	*command.Deps

	file     string
	load     []string // folders
	saved    []*sim.Saved
	set      source.Settings
	model    *vcsim.Flags
	given    bool // whether a flag of the model is
	listen   []string
	expose   bool
	reach    reach
	certFor  []string
	username string
	password string
	env      string
	detach   bool
	detached bool
	speed    float64
	limits   limits.Flags

	args []string // the command line, from "vcenter up" on
}

// NewCmdUp returns the command; runF, when not nil, runs in its place.
func NewCmdUp(d *command.Deps, runF func(context.Context, *upOptions) error) *cobra.Command {
	o := &upOptions{options: &options{streams: d.Streams, connect: d.Connect, mode: "up"}, Deps: d, model: vcsim.New()}
	cmd := &cobra.Command{
		Use:   "up [VCENTER...]",
		Short: "Run vCenters without Kubernetes, or restore the API of stopped ones",
		Long: `Run simulated vCenters without Kubernetes until Ctrl-C, and print the govc
variables that point at them. Their inventory is a topology (-f), a saved
inventory (--load), or generated from counts with the flags and object names of
vcsim (DC0_C0_RP0_VM0). The commands list, get, govc, env, events, vm and down
work with them.

All flags of vcsim are supported, with one dash or two. The inventory of -load
may come from "vcenter save" or govc object.save. --esx runs a standalone host,
without the corrections of a vCenter. A link to the program with the name vcsim
behaves as vcsim does.

Only this machine can reach the vCenters. --expose with --listen ADDR:PORT lets
others: over TLS, with a generated password or a long one, and with refused
logins answered more and more slowly.

--in-kind and --in-docker-network let the containers of a network, and so the
pods of any kind cluster, reach the vCenters at an address of this machine in
that network, with the port of --listen if it has one. The output has the URL.

With VCENTER arguments, restore the API of these vCenters in a running sandbox.`,
		Example: `  vsphere-sandbox vcenter up -f zones-us-eu
  vsphere-sandbox vcenter up -f topology.yaml --set hosts=8 --detach
  vsphere-sandbox vcenter up --dc 2 --cluster 3 --vm 50 -l 127.0.0.1:8989
  vsphere-sandbox vcenter up --load saved/us
  vsphere-sandbox vcenter up --vm 5 --in-kind kind -l 127.0.0.1:8989 --detach
  vsphere-sandbox vcenter up us eu`,
		ValidArgsFunction: complete.VCenters(d),
		RunE: func(cmd *cobra.Command, args []string) error {
			o.vcenters = args
			if err := o.complete(cmd.Flags()); err != nil {
				return err
			}
			return command.Or(runF, runUp)(cmd.Context(), o)
		},
	}
	o.limits.Bind(cmd)
	f := cmd.Flags()
	f.StringVarP(&o.file, "file", "f", "", "`TOPOLOGY` to run: a built-in name or a file")
	f.StringArrayVar(&o.load, "load", nil, "load the inventory in `FOLDER`; repeat for more vCenters")
	_ = cmd.MarkFlagDirname("load") // its only error is an unknown flag
	o.set.Bind(cmd)
	o.model.Bind(f)
	for _, name := range []string{"tlscert", "tlskey", "trace-file"} {
		_ = cmd.MarkFlagFilename(name) // its only error is an unknown flag
	}
	f.StringArrayVarP(&o.listen, "listen", "l", nil, "`ADDRESS` of the first vCenter (127.0.0.1:8989); repeat for the next ones")
	f.BoolVar(&o.expose, "expose", false, "let other machines reach the vCenters, at the addresses of --listen")
	o.reach.bind(cmd)
	f.StringSliceVar(&o.certFor, "certificate-name", nil, "further `NAME` or IP address in the certificate; repeat for more")
	f.StringVar(&o.username, "username", "", "administrator of every vCenter (default: a different one for each)")
	f.StringVar(&o.password, "password", "", "administrator password (better in $"+passwordVariable+")")
	f.StringVarP(&o.env, "env", "E", "", "write the variables to `FILE` or a pipe, in the syntax of $SHELL (\"-\": standard output)")
	f.BoolVarP(&o.detach, "detach", "d", false, "return when the vCenters are ready, and keep them running")
	f.BoolVar(&o.detached, "detached", false, "")
	// Their only error is an unknown flag.
	_ = f.MarkHidden("detached")
	_ = cmd.RegisterFlagCompletionFunc("file", source.Names(0))
	f.Float64Var(&o.speed, "speed", float64(pace.Default), "how many times faster than real time guests boot")
	output.BindFormat(cmd, &o.format, output.JSON, output.YAML, output.Names)
	return cmd
}

// alone reports whether to run vCenters, and not to bring those of a sandbox back.
func (o *upOptions) alone() bool { return o.file != "" || len(o.load) > 0 || o.given }

func (o *upOptions) complete(f *pflag.FlagSet) error {
	o.given = false
	inventory := false // whether a flag says what there is
	f.Visit(func(one *pflag.Flag) {
		o.given = o.given || slices.Contains(vcsim.Names(), one.Name)
		inventory = inventory || vcsim.IsInventory(one.Name)
	})
	switch {
	case o.model.ESX && (o.file != "" || len(o.load) > 0 || len(o.vcenters) > 0 || o.detach || o.detached):
		return report.UsageError(upCommand+" --esx", "--esx runs one standalone host, until Ctrl-C: -f, --load, --detach and names of vCenters do not go with it")
	case o.model.StdinExit && o.detach:
		return report.UsageError(upCommand+" --stdinexit", "--stdinexit waits for standard input, which --detach closes")
	case len(o.load) > 0 && (o.file != "" || inventory || len(o.vcenters) > 0):
		return report.UsageError(upCommand+" --load "+o.load[0], "--load says what there is: -f, --dc, --vm and the like and names of vCenters do not go with it")
	case o.file != "" && len(o.vcenters) > 0:
		return report.UsageError(upCommand+" -f "+o.file, "names of vCenters and a topology exclude each other")
	case o.given && len(o.vcenters) > 0:
		return report.UsageError(upCommand+" "+o.vcenters[0], "names of vCenters do not go with --dc, --vm and the like")
	case o.file != "" && inventory:
		return report.UsageError(upCommand+" -f "+o.file, "-f says what there is: --dc, --vm and the like do not go with it")
	case !o.alone() && len(o.vcenters) == 0:
		return report.UsageError(upCommand+" -f zones-us-eu", "needs the topology of vCenters to run (-f), or the names of vCenters of a sandbox")
	case o.expose && len(o.listen) == 0:
		return report.UsageError(upCommand+" --expose --listen 192.0.2.10:8989", "--expose needs the addresses to expose: --listen ADDR:PORT")
	case o.expose && (o.model.Plain() || o.model.ESX):
		return report.UsageError(upCommand+" --expose, without --tls=false and --esx", "--expose is for vCenters with TLS and logins")
	case o.reach.kind != "" && o.reach.network != "":
		return report.UsageError(upCommand+" --in-kind "+o.reach.kind, "--in-kind and --in-docker-network exclude each other: kind clusters share one network")
	case o.reach.asked() && (o.model.Plain() || o.model.ESX):
		return report.UsageError(upCommand+" --in-kind kind, without --tls=false and --esx", "--in-kind and --in-docker-network are for vCenters with TLS and logins")
	case o.password != "" && o.username == "":
		return report.UsageError("--username USER --password …, or neither", "--password without --username")
	case len(o.set) > 0 && o.file == "":
		return report.UsageError("-f TOPOLOGY --set NAME=VALUE", "--set is for the parameters of a topology, which needs -f")
	}
	if err := o.onlyAlone(f); err != nil {
		return err
	}
	if err := o.limits.Check(); err != nil {
		return err
	}
	if o.username != "" && o.password == "" {
		if o.password = o.Getenv(passwordVariable); o.password == "" {
			return report.UsageError(passwordVariable+"=SECRET "+upCommand+" --username "+o.username, "--username needs --password, or the password in $"+passwordVariable)
		}
	}
	if n := len(o.password); (o.expose || o.reach.asked()) && o.username != "" && n < strongPassword {
		return report.UsageError("without --username, which generates a password", "a password of %d characters: others can try it; want %d", n, strongPassword)
	}
	o.args = []string{"vcenter", "up", "--detached"}
	f.Visit(func(one *pflag.Flag) {
		switch v := one.Value.(type) {
		case *source.Settings:
			o.args = append(o.args, v.Args()...)
		case pflag.SliceValue:
			for _, s := range v.GetSlice() {
				o.args = append(o.args, "--"+one.Name+"="+s)
			}
		default:
			if one.Name != "detach" && one.Name != "password" && one.Name != "name" {
				o.args = append(o.args, "--"+one.Name+"="+one.Value.String())
			}
		}
	})
	return nil
}

// onlyAlone refuses what says nothing to vCenters that run already.
func (o *upOptions) onlyAlone(f *pflag.FlagSet) (err error) {
	if o.alone() {
		return nil
	}
	f.Visit(func(one *pflag.Flag) {
		if one.Name != "output" && one.Name != "name" {
			err = report.UsageError(upCommand+" --vm 2 --"+one.Name+" "+one.Value.String(), "--%s is for vCenters alone: it needs -f, --load, or --dc, --vm and the like", one.Name)
		}
	})
	return err
}

// strongPassword is the length of a password that others may try.
const strongPassword = 16

const upCommand = command.Program + " vcenter up"

// passwordVariable holds the administrator's password where it is not to stand on a command line, which everybody on the
// machine can read.
const passwordVariable = "VSPHERE_SANDBOX_PASSWORD"

func runUp(ctx context.Context, o *upOptions) error {
	if !o.alone() {
		return o.letAnswer(ctx)
	}
	ctx, stop := o.model.UntilKey(ctx, o.streams)
	defer stop()
	front, closeTrace, err := o.model.Front(o.streams.Err)
	if err != nil {
		return err
	}
	defer func() { _ = closeTrace() }()
	if o.model.ESX {
		return o.runHost(ctx, front)
	}
	t, err := o.topology()
	if err != nil {
		return err
	}
	addresses, err := addresses(o.listen, len(t.Spec.VCenters))
	if err != nil {
		return err
	}
	if err := o.exposes(addresses); err != nil {
		return err
	}
	front.Exposed = o.expose || o.reach.asked()
	names, err := o.reach.find(ctx)
	if err != nil {
		return err
	}
	defer o.reach.close()
	v := up.VCenters{
		Names:    append(names, o.certFor...),
		Topology: t, Saved: o.saved, Addresses: addresses, Speed: o.speed, Detach: o.detach, Detached: o.detached, Args: o.args, Format: o.format, Limits: o.limits,
		Vcsim: front,
	}
	if o.reach.asked() {
		v.ContainerURL = o.reach.containerURL
		v.Reach = func(ctx context.Context, access []api.Access) error { return o.reach.open(ctx, access, addresses) }
	}
	if o.username != "" {
		v.Login = url.UserPassword(o.username, o.password)
		v.Environ = []string{passwordVariable + "=" + o.password}
	}
	if o.env != "" && o.env != "-" {
		v.Env = func(ctx context.Context, lines string) error { return writeEnv(ctx, o.env, lines) }
	}
	return up.RunVCenters(ctx, o.Deps, v)
}

func (o *upOptions) topology() (*topology.Topology, error) {
	if len(o.load) > 0 {
		return o.open()
	}
	if o.file != "" {
		return source.Load("vcenter up -f", o.file, o.set)
	}
	return o.model.Topology()
}

// letAnswer lets vCenters of a sandbox answer again. Where that fails, a topology may have been meant.
func (o *upOptions) letAnswer(ctx context.Context) error {
	err := run(ctx, o.options)
	if name := o.vcenters[0]; err != nil && (slices.Contains(scenarios.Names(), name) || strings.ContainsAny(name, "./")) {
		return report.UsageError(upCommand+" -f "+name, "%s is a topology, not the name of a vCenter", name)
	}
	return err
}

// addresses returns where n vCenters listen, if the first are given: the others get free ports on the last one's address.
// Without any it returns none.
func addresses(given []string, n int) ([]string, error) {
	if len(given) > n {
		return nil, report.UsageError("--listen 127.0.0.1:0, at most once for each", "--listen is there %d times, and vCenters %d", len(given), n)
	}
	var last string
	all := make([]string, 0, n)
	for _, one := range given {
		host, port, err := net.SplitHostPort(one)
		number, bad := strconv.Atoi(port)
		if err != nil || bad != nil || number < 0 || number > 65535 {
			return nil, report.UsageError("--listen 127.0.0.1:8989", "--listen %s: want an address and a port", one)
		}
		// It is in the URL that clients get, and in the certificate.
		if ip := net.ParseIP(host); host == "" || ip != nil && ip.IsUnspecified() {
			return nil, report.UsageError("--listen 127.0.0.1:"+port, "--listen %s: want the one address that clients are to use", one)
		}
		last = host
		all = append(all, one)
	}
	for len(given) > 0 && len(all) < n {
		all = append(all, net.JoinHostPort(last, "0"))
	}
	return all, nil
}

// exposes refuses addresses that other machines can reach, unless that is what the user wants; then it says who can.
func (o *upOptions) exposes(addresses []string) error {
	for _, a := range addresses {
		host, _, _ := net.SplitHostPort(a) // checked
		ip := net.ParseIP(host)
		if host == "localhost" || ip != nil && ip.IsLoopback() {
			continue
		}
		if !o.expose {
			return report.UsageError("--listen "+a+" --expose", "--listen %s: other machines could reach the vCenters there", a)
		}
	}
	if o.expose && !o.detached {
		fmt.Fprintf(o.streams.Err, "warning: every machine that can connect to %s can try to log in to these vCenters, until they are stopped\n", strings.Join(addresses, ", "))
	}
	return nil
}

// open reads the saved inventories.
func (o *upOptions) open() (*topology.Topology, error) {
	for _, dir := range o.load {
		saved, err := sim.OpenSaved(dir)
		var damaged *sim.DamagedError
		switch {
		case errors.As(err, &damaged):
			return nil, &report.Error{Code: "damaged-folder", Message: err.Error(), Try: damaged.Try(), Exit: report.Usage}
		case err != nil:
			return nil, &report.Error{Code: "unreadable-folder", Message: "--load: " + err.Error(), Try: "vsphere-sandbox vcenter save VCENTER FOLDER, which makes one", Exit: report.Usage}
		}
		o.saved = append(o.saved, saved)
	}
	t, err := sim.TopologyOf(o.saved...)
	if err != nil {
		return nil, report.UsageError(upCommand+" --load "+o.load[0]+", and the other as another sandbox, with --name", "--load: %v", err)
	}
	return t, nil
}

// Args turns the long flags of "vcenter up" that have one dash, as vcsim's have, into such with two: "-vm 10" would be
// the flags -v and -m.
func Args(args []string) []string {
	group := slices.IndexFunc(args, func(a string) bool { return a == "vcenter" || a == "vc" })
	at := slices.Index(args, "up")
	if group < 0 || at < group {
		return args
	}
	args = slices.Clone(args)
	for i := at + 1; i < len(args) && args[i] != "--"; i++ {
		name, _, _ := strings.Cut(strings.TrimPrefix(args[i], "-"), "=")
		if strings.HasPrefix(args[i], "-") && slices.Contains(long(), name) {
			args[i] = "-" + args[i]
		}
	}
	return args
}

// long are the long flags that are accepted with one dash.
func long() []string {
	return append(vcsim.Names(), "file", "set", "listen", "expose", "in-kind", "in-docker-network", "certificate-name", "username", "password", "env", "detach", "speed", "output", "name", "help", "load")
}

// writeEnv writes lines with a password to a file that only its owner may read, completely or not at all; or to a pipe,
// once it has a reader or ctx ends.
func writeEnv(ctx context.Context, path, lines string) error {
	write := replace
	if info, statErr := os.Stat(path); statErr == nil && !info.Mode().IsRegular() {
		write = feed
	}
	if err := write(ctx, path, lines); err != nil && ctx.Err() == nil {
		return &report.Error{
			Code: "env-unwritable", Message: fmt.Sprintf("--env: %v", err), Exit: report.Prerequisite,
			Try: "--env FILE in an existing folder that you can write to\n--env -   # to have the variables printed",
		}
	}
	return nil
}

func replace(_ context.Context, path, lines string) error {
	if err := atomicfile.WriteFile(path, []byte(lines), 0o600); err != nil {
		return plain(path, err)
	}
	return nil
}

// plain is err with the path that was asked for, not that of a file on the way there.
func plain(path string, err error) error {
	if at, ok := errors.AsType[*fs.PathError](err); ok {
		err = at.Err
	}
	return fmt.Errorf("%s: %w", path, err)
}

// feed writes to a pipe or a device. Opening a pipe without a reader would block, so it is opened non-blocking and polled.
func feed(ctx context.Context, path, lines string) error {
	for {
		f, err := os.OpenFile(path, os.O_WRONLY|syscall.O_NONBLOCK, 0)
		if err == nil {
			_, err = f.WriteString(lines)
			return errors.Join(err, f.Close())
		}
		if !errors.Is(err, syscall.ENXIO) {
			return plain(path, err)
		}
		if err := backoff.Sleep(ctx, 20*time.Millisecond); err != nil {
			return err
		}
	}
}
