package up

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"al.essio.dev/pkg/shellescape"

	"github.com/vsphere-sandbox/vsphere-sandbox/internal/cli/attach"
	"github.com/vsphere-sandbox/vsphere-sandbox/internal/cli/command"
	"github.com/vsphere-sandbox/vsphere-sandbox/internal/cli/home"
	"github.com/vsphere-sandbox/vsphere-sandbox/internal/cli/leftovers"
	"github.com/vsphere-sandbox/vsphere-sandbox/internal/cli/limits"
	"github.com/vsphere-sandbox/vsphere-sandbox/internal/cli/output"
	"github.com/vsphere-sandbox/vsphere-sandbox/internal/cli/report"
	"github.com/vsphere-sandbox/vsphere-sandbox/internal/cli/tables"
	"github.com/vsphere-sandbox/vsphere-sandbox/internal/cli/vcenterconfig"
	"github.com/vsphere-sandbox/vsphere-sandbox/internal/instance"
	"github.com/vsphere-sandbox/vsphere-sandbox/internal/pace"
	"github.com/vsphere-sandbox/vsphere-sandbox/internal/printable"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/cluster/image"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/cluster/kind"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/event"
	kindground "github.com/vsphere-sandbox/vsphere-sandbox/pkg/ground/kind"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/sandbox"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/sandbox/api"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/sandbox/snapshot"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/topology"
)

// boot runs the sandbox in this process until it is stopped.
func boot(ctx context.Context, o *options) (err error) {
	o.Deps = withStickyStderr(o.Deps)
	root, err := o.Sandboxes.Root()
	if err != nil {
		return err
	}
	if err := o.preflight(ctx, root); err != nil {
		return err
	}
	program, err := o.ccm.Resolve(ctx, o.Streams)
	if err != nil {
		return err
	}
	if o.ground.Podded() {
		if program, err = o.ccm.Deployable(ctx, program, o.Streams); err != nil {
			return err
		}
	}
	volumes, err := o.csi.Resolve(ctx, o.Streams)
	if err != nil {
		return err
	}
	cluster, err := o.cluster(ctx)
	if err != nil {
		return err
	}
	if err := o.checkFrom(cluster.Version()); err != nil {
		return err
	}
	o.reportUnreverted(root)
	instanceHome, err := home.Open(ctx, root, o.name, o.topology.Metadata.Name, func(text string) {
		fmt.Fprintln(o.Streams.Err, "an earlier sandbox of this name crashed:", printable.Line(text))
	})
	if err != nil {
		return explainState(o, err)
	}
	ready := false
	defer func() { err = errors.Join(err, leave(o, instanceHome, err, ready)) }()
	dir, logger := instanceHome.Dir, instanceHome.Logger
	if left := dir.Predecessor(); left.Removed {
		fmt.Fprintf(o.Streams.Err, "cleaned up after an earlier sandbox %q that crashed (%d processes were left)\n", o.name, len(left.Killed))
	}

	ctx, unwatch := instanceHome.Context(ctx)
	defer unwatch()
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	var ui *screen
	if o.tui {
		ui = openScreen(ctx, o, dir, cancel)
		defer func() { err = errors.Join(err, ui.end()) }()
	}
	shown, tty := o.Streams.Err, o.Streams.ErrTTY()
	if o.tui { // which shows it
		shown, tty = io.Discard, false
	}
	progress := newProgress(shown, tty)
	defer progress.close()
	fmt.Fprintf(o.Streams.Err, "sandbox %q: %s, speed %g\n", o.name, o.holds(), o.speed)
	if o.alone == nil && !o.ground.Watches && len(o.topology.Nodes()) == 0 {
		fmt.Fprintln(o.Streams.Err, "note: no VM of this topology has a role: the cluster will have no nodes")
	}
	opts, err := o.sandbox(root)
	if err != nil {
		return err
	}
	opts.Dir, opts.Logger, opts.Progress, opts.CCM, opts.CSI = dir, logger, progress.show, program, volumes
	opts.Cluster = cluster
	opts.Snapshots, opts.Settings = snapshot.In(root, o.name), o.settings
	var s running = sandbox.New(opts)
	if o.ground.Installs() {
		if s, err = attached(ctx, o, instanceHome, progress.show); err != nil {
			return err
		}
	}
	if (o.ccm.Watch != "" || o.csi.Watch != "") && !o.tui {
		defer reportBuilds(ctx, o.Streams.Err, s.Log())()
	}
	announced := make(chan struct{})
	stopAnnounce := context.AfterFunc(ctx, func() {
		defer close(announced)
		progress.close()
		fmt.Fprintf(o.Streams.Err, "sandbox %q: stopping\n", o.name)
	})
	begin := time.Now()
	var failed *uselessError
	err = s.Run(ctx, func() {
		ready = true
		progress.close()
		instanceHome.Ready()
		if o.resume && o.snapshot.Name == snapshot.Stopped { // the sandbox continues from it
			if err := opts.Snapshots.Rename(snapshot.Stopped, snapshot.LastStop); err != nil {
				logger.Error("snapshot", "err", err)
			}
		}
		fmt.Fprintf(o.Streams.Err, "ready in %.1fs\n\n", time.Since(begin).Seconds())
		if o.tui {
			return
		}
		if err := announce(ctx, o, s); errors.As(err, &failed) {
			cancel()
		} else if err != nil {
			logger.Error("announce", "err", err)
		}
	})
	if !stopAnnounce() {
		<-announced
	}
	progress.close() // later output begins on a new line
	if failed != nil {
		return errors.Join(failed.error, err)
	}
	if removed := instanceHome.Removed(ctx); removed != nil {
		if errors.Is(err, context.Canceled) {
			err = nil
		}
		return errors.Join(removed, err)
	}
	if ready && err == nil {
		fmt.Fprintf(o.Streams.Err, "sandbox %q: stopped\n", o.name)
		return nil // it was stopped on request
	}
	if err != nil && !errors.Is(err, context.Canceled) {
		reportTrouble(o, s.Log())
	}
	return explainRun(o, err)
}

// cluster is what the flags say of the cluster, with the Kubernetes program of an embedded one.
func (o *options) cluster(ctx context.Context) (c sandbox.Cluster, err error) {
	c = o.ground.Of(o.retain)
	var wanted topology.Kubernetes
	if o.topology != nil {
		wanted = o.topology.Spec.Kubernetes
	}
	if c.Kind != nil {
		c.Kind.Knobs = o.kubernetes.Knobs(wanted)
	}
	if o.embedded() {
		c.Kubernetes, err = o.kubernetes.ResolveFor(ctx, o.topology, wanted, nil, o.Streams)
	}
	return c, err
}

// sandbox is what the flags say of it. What has to be fetched or made is not in it.
func (o *options) sandbox(root string) (opts sandbox.Options, err error) {
	opts = sandbox.Options{
		Name: o.name, Topology: o.topology, Speed: pace.Speed(o.speed), Port: o.port, Audit: o.audit, Trace: o.trace, Light: o.light, LoadBalancer: o.balancer,
		Cluster: o.ground.Of(o.retain), Real: o.real,
		CCM: sandbox.CCM{None: o.ccm.None(), Replicas: o.ccm.Replicas}, CSI: sandbox.CSI{Enabled: !o.csi.Disabled()},
	}
	if opts.Place, err = o.limits.Place(root); err != nil {
		return opts, explainState(o, err)
	}
	if o.snapshot != nil {
		opts.From = o.snapshot
		if o.resume {
			opts.Place.Addresses = o.snapshot.Addresses
		}
	}
	if o.alone != nil {
		opts.VCentersOnly, opts.Place.Addresses, opts.Login, opts.Saved = true, o.alone.Addresses, o.alone.Login, o.alone.Saved
		opts.Vcsim, opts.Names, opts.ContainerURL = o.alone.Vcsim, o.alone.Names, o.alone.ContainerURL
	}
	return opts, nil
}

// preflight checks the limits of this machine, before anything is fetched or made. A sandbox in another cluster takes
// nothing of them.
func (o *options) preflight(ctx context.Context, root string) error {
	if o.ground.Installs() {
		return nil
	}
	if err := instance.CheckFree(root, o.name); err != nil { // which is why there is less
		return explainState(o, err)
	}
	opts, err := o.sandbox(root)
	if err != nil {
		return err
	}
	return o.limits.Run(ctx, limits.SizeOf(opts, root), func(text string) { fmt.Fprintln(o.Streams.Err, "note:", text) })
}

// reportTrouble shows the last things that went wrong: the error names the step that failed, these often the reason.
func reportTrouble(o *options, log *event.Log) {
	const most = 12 // the error, and the last words of three nodes and of the components beside them
	events, _ := log.Read(0, 0)
	var bad []event.Event
	for _, e := range events {
		if e.Level == event.Error && !slices.ContainsFunc(bad, func(b event.Event) bool { return b.Message == e.Message }) {
			bad = append(bad, e)
		}
	}
	for _, e := range bad[max(0, len(bad)-most):] {
		fmt.Fprintf(o.Streams.Err, "  ✗ %s\n", printable.Line(e.Message))
	}
}

// leave removes the sandbox's directory, or leaves it with its logs: when it did not come up and no prerequisite explains
// that, or when it failed in another way and that was asked for. An interrupted boot leaves nothing.
func leave(o *options, instanceHome *home.Home, err error, ready bool) error {
	retain := err != nil && (o.retain || !ready && report.Of(err).Exit == report.Failure)
	if retain {
		fmt.Fprintf(o.Streams.Err, "kept until \"down\" or the next \"up\" of that name: %s\n", instanceHome.Dir.Path())
		reportNodes(o, instanceHome.Dir.Path())
	}
	return instanceHome.Release(retain)
}

// reportNodes says how the nodes are found that are kept with a directory, where they are containers, and removed.
func reportNodes(o *options, dir string) {
	with, err := kindground.Runtime(dir)
	if err != nil || with == nil {
		return
	}
	fmt.Fprintf(o.Streams.Err, "kept with it are its nodes, as far as they were made: %s\n", kind.Listing(with, o.name))
	logs := filepath.Join(dir, "logs", "kind")
	if _, err := os.Stat(logs); err == nil {
		fmt.Fprintln(o.Streams.Err, "what they have logged is in", logs)
	}
	fmt.Fprintf(o.Streams.Err, "this removes all of it: %s%s down\n", command.Typed(os.Args[0]), o.nameFlag())
}

// announce prints what has come up. A waiting parent process is notified in any case, also if the output fails.
func announce(ctx context.Context, o *options, s running) (err error) {
	if o.alone != nil {
		err = announceVCenters(ctx, o, s.(*sandbox.Sandbox)) // which is in this process
		if failed := (*uselessError)(nil); errors.As(err, &failed) {
			return err
		}
	} else if o.format == output.JSON || o.format == output.YAML {
		err = output.Object(o.Streams.Out, o.format, "Status", s.Status())
	} else {
		err = output.List(o.Streams.Out, output.Flags{}, tables.Nodes(o.Now()), s.Nodes())
	}
	if o.detached {
		return errors.Join(err, released())
	}
	fmt.Fprint(o.Streams.Err, "\nIn a second terminal:\n", next(o), "\nCtrl-C stops it.\n")
	return err
}

// running is a sandbox as "up" sees it: one of this process, or one in a cluster that this process attaches to.
type running interface {
	Run(ctx context.Context, ready func()) error
	Log() *event.Log
	Status() api.Status
	Nodes() []api.Node
}

// attached is the sandbox in the cluster that is there.
func attached(ctx context.Context, o *options, instanceHome *home.Home, show func(sandbox.Progress)) (running, error) {
	there := o.ground.Existing
	name := there.Image
	if name == "" {
		set, err := image.Sandbox(ctx, o.Self, "")
		if err != nil {
			return nil, &report.Error{
				Code: "image-missing", Message: "the cluster needs an image of this program", Err: err, Exit: report.Prerequisite,
				Try: "--image REPOSITORY:TAG   # that the cluster can pull",
			}
		}
		name = set.Name(image.Program)
	}
	return attach.New(attach.Options{
		Name: o.name, Topology: o.topology, Speed: pace.Speed(o.speed), Target: there.Target(), Image: name, Shards: there.Shards,
		Args: append(o.ccm.ToArgs(), o.csi.ToArgs()...), AllowController: there.AllowController, AllowUnowned: there.AllowUnowned,
		Dir: instanceHome.Dir, Logger: instanceHome.Logger, Progress: show,
	}), nil
}

// planInCluster says what would be put into the cluster.
func planInCluster(o *options, w io.Writer) {
	fmt.Fprintf(w, "\nIn the cluster of %s: a namespace vsphere-sandbox-%s with the vCenters in one pod, pods of light nodes, and the cloud controller manager in kube-system.\n", o.where(), o.name)
}

// planExisting says what would be done to a cluster whose nodes are watched.
func planExisting(o *options, w io.Writer) {
	fmt.Fprintf(w, "\nThe nodes would be those of the cluster of %s, each with the VM that has its UUID. ", o.where())
	if o.ccm.None() {
		fmt.Fprintln(w, "Nothing would be made there: no --ccm says that a cloud controller manager is to run.")
		return
	}
	fmt.Fprintf(w, "The cloud controller manager would run here, with an account in a namespace vsphere-sandbox-%s there, which goes with the sandbox.\n", o.name)
}

// where is the cluster that is there, in words.
func (o *options) where() string {
	if c := o.ground.Existing.Context; c != "" {
		return "context " + c
	}
	return "the kubeconfig's current context"
}

// reportUnreverted says that an earlier sandbox of the name has left writes at real vCenters, which one of simulated ones does
// not know how to take back.
func (o *options) reportUnreverted(root string) {
	if o.real != nil {
		return // then they are, or it is refused
	}
	if all, err := leftovers.Unreverted(root); err == nil && all[o.name] > 0 {
		fmt.Fprintln(o.Streams.Err, "note: of an earlier sandbox of this name,", leftovers.Message(o.name, all[o.name]))
	}
}

// readReal reads the vCenters' inventory: what the sandbox is made of. What an earlier sandbox of the name has left there is
// taken back first, for a VM that it has left off is no node.
func (o *options) readReal(ctx context.Context) error {
	root, err := o.Sandboxes.Root()
	if err != nil {
		return err
	}
	// One that runs has its journal open, and is not to be mistaken for one that has died.
	if err := instance.CheckFree(root, o.name); err != nil && !o.dryRun {
		return explainState(o, err)
	}
	progress := vcenterconfig.NewProgress(o.Streams.Err, o.Streams.ErrTTY())
	defer progress.Close()
	if o.real.Scope.AllowWrites && !o.dryRun {
		if err := leftovers.Writes(ctx, filepath.Join(root, o.name), o.Getenv, func(text string) { fmt.Fprintln(o.Streams.Err, printable.Lines(text)) }); err != nil {
			return err
		}
	}
	recording, err := o.real.Read(ctx, o.name)
	if err != nil {
		return vcenterconfig.Explain(ctx, err)
	}
	progress.Close()
	for _, w := range recording.Warnings {
		fmt.Fprintln(o.Streams.Err, "note:", printable.Line(w))
	}
	o.topology = recording.Topology
	o.lighten()
	return nil
}

// explainState gives the errors of making the instance directory, and of the first files in it, their codes and ways
// out.
func explainState(o *options, err error) error { return home.ExplainState(err, o.name, o.verb()) }

// explainRun does so for the errors that a sandbox ends with, nil among them.
func explainRun(o *options, err error) error { return home.ExplainRun(err, o.name, o.freePort()) }

// verb is the command that was typed.
func (o *options) verb() string {
	if o.alone != nil {
		return "vcenter up"
	}
	return "up"
}

func (o *options) freePort() string {
	flag := "--api-port 0"
	if o.alone != nil {
		flag = "--listen 127.0.0.1:0"
	}
	return "vsphere-sandbox " + o.verb() + " " + flag + "   # any free one"
}

// next returns commands to try with a sandbox that has come up. Real VMs are never broken, and the parent of a detached
// process does not know their names either.
func next(o *options) string {
	commands := []string{"get nodes", "get vms", "events -f"}
	switch worker := worker(o.topology); {
	case o.alone != nil:
		commands = []string{"govc ls", "events -f"}
	case o.real == nil && worker != "":
		commands = []string{
			"kubectl get nodes -L topology.kubernetes.io/region,topology.kubernetes.io/zone", "vm power-off " + shellescape.Quote(worker), "events -f",
		}
	}
	me := command.Typed(os.Args[0]) + o.nameFlag()
	var b strings.Builder
	b.WriteByte('\n')
	if o.alone != nil {
		b.WriteString("  eval \"$(" + me + " env)\"\n")
	}
	for _, c := range commands {
		b.WriteString("  " + me + " " + c + "\n")
	}
	return b.String()
}

// worker returns the first VM that becomes a worker, or "".
func worker(t *topology.Topology) string {
	if t == nil {
		return ""
	}
	for _, n := range t.Nodes() {
		if n.VM.Role == topology.RoleWorker {
			return n.VM.Name
		}
	}
	return ""
}
