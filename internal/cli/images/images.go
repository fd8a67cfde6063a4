// Package images is the commands about the container images that a sandbox needs where its cluster is not the built-in one:
// which those are and where they are, and how they get to a place that reaches no registry.
//
// Floor 5.
package images

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/spf13/cobra"

	"github.com/vsphere-sandbox/vsphere-sandbox/internal/cli/command"
	"github.com/vsphere-sandbox/vsphere-sandbox/internal/cli/complete"
	"github.com/vsphere-sandbox/vsphere-sandbox/internal/cli/output"
	"github.com/vsphere-sandbox/vsphere-sandbox/internal/cli/report"
	"github.com/vsphere-sandbox/vsphere-sandbox/internal/iostreams"
	"github.com/vsphere-sandbox/vsphere-sandbox/internal/kubernetes/release"
	"github.com/vsphere-sandbox/vsphere-sandbox/internal/sidecars"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/cluster/image"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/cluster/kind/images"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/cluster/kind/nodeimage"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/cluster/kind/runtime"
)

// NewCmdImages returns the group of commands.
func NewCmdImages(d *command.Deps) *cobra.Command {
	return command.Group(&cobra.Command{
		Use:   "images",
		Short: "List, save and load the images that kind and existing clusters need",
		Long: `List, save and load the container images of the grounds that run in containers.
Use it to prepare a machine that cannot reach a registry.

  kind       a node image: the official kindest/node, or one that
             hack/kind-node builds without a registry
  existing   the image of this program, for the nodes of that cluster

No registry has the image of this program: it is built from the running binary
when it is needed.`,
		Example: `  vsphere-sandbox images list
  vsphere-sandbox images save images.tar
  vsphere-sandbox images load images.tar`,
	}, NewCmdList(d, nil), NewCmdSave(d, nil), NewCmdLoad(d, nil))
}

// options are what the commands have in common.
type options struct {
	streams *iostreams.Streams
	self    string
	detect  func(context.Context, string) (*runtime.Runtime, error)

	// runtime is the name of the runtime's command, "" for whichever answers.
	runtime string
	// kubernetes is the release that nodes have to have.
	kubernetes string
	// cache is where hack/kind-node keeps its images, "" for its default.
	cache string
}

func newOptions(d *command.Deps) options {
	return options{streams: d.Streams, self: d.Self, detect: detect, kubernetes: release.Kind()}
}

// detect finds the runtime of a name, or with "" the one that up would take.
func detect(ctx context.Context, name string) (*runtime.Runtime, error) {
	if name == "" {
		return runtime.Detect(ctx)
	}
	rt := runtime.New(name)
	return rt, rt.Check(ctx)
}

// bind adds the flag that names a runtime.
func (o *options) bind(cmd *cobra.Command) {
	cmd.Flags().StringVar(&o.runtime, "runtime", "", "container `RUNTIME`: docker, podman or nerdctl (default: the first that responds)")
	// Cannot fail: the flag was added in the line above.
	_ = cmd.RegisterFlagCompletionFunc("runtime", cobra.FixedCompletions([]string{"docker", "podman", "nerdctl"}, cobra.ShellCompDirectiveNoFileComp))
}

type loadOptions struct {
	options
	file   string
	format string
}

// NewCmdLoad returns the command; runF, when not nil, runs in its place.
func NewCmdLoad(d *command.Deps, runF func(context.Context, *loadOptions) error) *cobra.Command {
	o := &loadOptions{options: newOptions(d)}
	runF = command.Or(runF, load)
	cmd := &cobra.Command{
		Use:   "load FILE",
		Short: "Load images from a file into the container runtime",
		Long: `Load the images of a file that "images save" wrote into the container runtime:
Docker, Podman or nerdctl. The whole file is checked against its digests first;
nothing is loaded from a damaged file. Images that the runtime has are skipped.`,
		Example: `  vsphere-sandbox images load images.tar
  vsphere-sandbox images load images.tar --runtime podman`,
		Args:              cobra.MatchAll(command.AtLeastOne("FILE"), command.AtMostOne),
		ValidArgsFunction: complete.OneFile,
		RunE: func(cmd *cobra.Command, args []string) error {
			o.file = args[0]
			return runF(cmd.Context(), o)
		},
	}
	o.bind(cmd)
	output.BindFormat(cmd, &o.format, output.Plain, output.JSON, output.YAML)
	return cmd
}

// answer is what programs get.
type answer struct {
	Runtime string      `json:"runtime"`
	Images  []imageDone `json:"images"`
}

type imageDone struct {
	images.Item
	// Loaded is false where the runtime had it.
	Loaded bool `json:"loaded"`
}

func load(ctx context.Context, o *loadOptions) error {
	p := newProgress(o.streams)
	defer p.end()
	p.now("checking " + o.file)
	archive, err := images.Open(ctx, o.file, p.share)
	if errors.Is(err, fs.ErrNotExist) {
		return report.UsageError("vsphere-sandbox images save "+o.file+", on a machine that has the images", "there is no file %s", o.file)
	} else if err != nil {
		return explain(err)
	}
	rt, err := o.detect(ctx, o.runtime)
	if err != nil {
		return explain(err)
	}
	p.now("loading into " + rt.Name())
	loaded, err := archive.Load(ctx, images.Store{Runtime: rt}, p.share)
	if err != nil {
		return explain(err)
	}
	p.end()
	done := answer{Runtime: rt.Name()}
	for _, l := range loaded {
		done.Images = append(done.Images, imageDone{l.Item, !l.AlreadyPresent})
	}
	if o.format == output.JSON || o.format == output.YAML {
		return output.Object(o.streams.Out, o.format, "LoadedImages", done)
	}
	for _, i := range done.Images {
		text := "loaded"
		if !i.Loaded {
			text = "was there"
		}
		if _, err := fmt.Fprintf(o.streams.Out, "%s: %s\n", i.Name, text); err != nil {
			return err
		}
	}
	return nil
}

// The grounds that need images, and what they are for.
const (
	kindGround     = "kind"
	existingGround = "existing"

	nodePart    = "node"
	programPart = "program"
	testPart    = "test"
)

// grounds are all of them.
func grounds() []string { return []string{kindGround, existingGround} }

// parts are what a ground needs. On kind the programs are given to the nodes by up, which makes their images itself; they
// are carried along all the same, so that nothing is missing where only the archive is.
func parts(ground string) []string {
	if ground == kindGround {
		return []string{nodePart, programPart}
	}
	return []string{programPart}
}

// bindGround adds --ground.
func bindGround(cmd *cobra.Command, ground *string, fallback, usage string) {
	cmd.Flags().StringVar(ground, "ground", fallback, usage)
	// Cannot fail: the flag was added in the line above.
	_ = cmd.RegisterFlagCompletionFunc("ground", cobra.FixedCompletions(grounds(), cobra.ShellCompDirectiveNoFileComp))
}

func checkGround(ground string) error {
	if ground == "" || slices.Contains(grounds(), ground) {
		return nil
	}
	return report.UsageError("--ground "+strings.Join(grounds(), "|"), "there is no ground %q that needs images", ground)
}

// finder is that of node images in a store.
func (o *options) finder(store images.Store, say func(string)) nodeimage.Finder {
	return nodeimage.Finder{Store: store, Kubernetes: o.kubernetes, Cache: o.cache, Progress: say}
}

// programs are the images of this program, as up makes them.
func (o *options) programs(ctx context.Context) (*image.Set, error) {
	stock, err := sidecars.Find(ctx)
	if err != nil {
		return nil, err
	}
	return image.Sandbox(ctx, o.self, stock)
}

// pack adds the images of programs to an archive.
func pack(ctx context.Context, w *images.Writer, set *image.Set) error {
	var items []images.Item
	for _, name := range set.Names() {
		items = append(items, images.Item{Name: name, Part: programPart})
	}
	r, out := io.Pipe()
	written := make(chan error, 1)
	go func() {
		err := set.Write(ctx, out)
		out.CloseWithError(err)
		written <- err
	}()
	err := w.Add(ctx, r, items...)
	if err == nil {
		_, err = io.Copy(io.Discard, r) // what is behind the tar's end
	} else {
		r.CloseWithError(err)
	}
	if werr := <-written; err == nil {
		err = werr
	}
	return err
}

// beat is how often something is said while one thing takes its time.
const beat = 4 * time.Second

// progress prints what is being done: a line for each step when it begins, and its progress every four seconds.
type progress struct {
	streams *iostreams.Streams

	mu    sync.Mutex
	what  string
	far   func() string
	ended bool

	stop chan struct{}
	gone chan struct{}
}

// newProgress begins; end ends it.
func newProgress(s *iostreams.Streams) *progress {
	p := &progress{streams: s, stop: make(chan struct{}), gone: make(chan struct{})}
	go p.repeat()
	return p
}

// end ends the progress. It is idempotent.
func (p *progress) end() {
	p.mu.Lock()
	ended := p.ended
	p.ended = true
	p.mu.Unlock()
	if !ended {
		close(p.stop)
	}
	<-p.gone
}

// now says what is begun.
func (p *progress) now(what string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.what, p.far = what, nil
	fmt.Fprintf(p.streams.Err, "  … %s\n", what)
}

// share reports how much of a whole is done.
func (p *progress) share(done, whole int64) {
	p.show(func() string {
		if whole == 0 {
			return ""
		}
		return fmt.Sprintf(": %d%% of %s", done*100/whole, output.Bytes(whole))
	})
}

// written reports how much has been written.
func (p *progress) written(done int64) { p.show(func() string { return ": " + output.Bytes(done) }) }

func (p *progress) show(far func() string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.far = far
}

func (p *progress) repeat() {
	defer close(p.gone)
	tick := time.NewTicker(beat)
	defer tick.Stop()
	for {
		select {
		case <-p.stop:
			return
		case <-tick.C:
		}
		p.mu.Lock()
		if p.what != "" && p.far != nil { // otherwise the step prints its own progress
			fmt.Fprintf(p.streams.Err, "  … %s%s\n", p.what, p.far())
		}
		p.mu.Unlock()
	}
}

// explain gives an error its exit status: asked wrongly, or what this machine does not have.
func explain(err error) error {
	return report.Coded(err, report.Failure, map[string]int{
		images.Foreign: report.Usage, images.Broken: report.Usage,
		nodeimage.Missing: report.Prerequisite, nodeimage.Unknown: report.Prerequisite, nodeimage.Version: report.Prerequisite,
		runtime.Missing: report.Prerequisite, runtime.Stopped: report.Prerequisite, runtime.Denied: report.Prerequisite,
	})
}
