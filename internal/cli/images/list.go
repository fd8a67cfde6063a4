package images

import (
	"context"
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/vsphere-sandbox/vsphere-sandbox/internal/build"
	"github.com/vsphere-sandbox/vsphere-sandbox/internal/cli/command"
	"github.com/vsphere-sandbox/vsphere-sandbox/internal/cli/complete"
	"github.com/vsphere-sandbox/vsphere-sandbox/internal/cli/output"
	"github.com/vsphere-sandbox/vsphere-sandbox/internal/cli/report"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/cluster/kind"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/cluster/kind/images"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/cluster/kind/nodeimage"
)

type listOptions struct {
	options
	ground string
	// purpose is "", or forConformance.
	purpose string
	flags   output.Flags
}

// NewCmdList returns the command; runF, when not nil, runs in its place.
func NewCmdList(d *command.Deps, runF func(context.Context, *listOptions) error) *cobra.Command {
	o := &listOptions{options: newOptions(d)}
	runF = command.Or(runF, list)
	cmd := &cobra.Command{
		Use:   "list",
		Short: "List the images that a ground needs",
		Long: `List the images that a ground needs, and where they are: in the container
runtime, in the cache of hack/kind-node, missing, or built by this program when
needed. If several node images are listed, the first one is used.

With --for conformance it lists the images that "conformance --cluster kind"
loads into the nodes for Kubernetes' own tests.`,
		Example: `  vsphere-sandbox images list
  vsphere-sandbox images list --ground kind -o wide
  vsphere-sandbox images list --for conformance`,
		Args:              command.NoArgs,
		ValidArgsFunction: complete.None,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if err := checkGround(o.ground); err != nil {
				return err
			}
			if o.purpose != "" && o.purpose != forConformance {
				return report.UsageError("--for "+forConformance, "--for %s: want %s", o.purpose, forConformance)
			}
			return runF(cmd.Context(), o)
		},
	}
	o.bind(cmd)
	cmd.Flags().StringVar(&o.purpose, "for", "", "only the images for this `PURPOSE`: conformance")
	// Cannot fail: the flag was added in the line above.
	_ = cmd.RegisterFlagCompletionFunc("for", cobra.FixedCompletions([]string{forConformance}, cobra.ShellCompDirectiveNoFileComp))
	bindGround(cmd, &o.ground, "", "only what this `GROUND` needs: kind or existing")
	o.flags.Bind(cmd)
	return cmd
}

// forConformance is the purpose of the images of Kubernetes' conformance tests.
const forConformance = "conformance"

// row is a line of the list.
type row struct {
	Name       string   `json:"name"`
	Grounds    []string `json:"grounds"`
	Part       string   `json:"part"`
	Kubernetes string   `json:"kubernetes,omitempty"`
	Platform   string   `json:"platform,omitempty"`
	Size       int64    `json:"size,omitempty"`
	ID         string   `json:"id,omitempty"`
	// Where is the runtime's name, "cache", "made here" or "missing"; a node image may be in two places.
	Where   []string `json:"where"`
	Archive string   `json:"archive,omitempty"`
}

func list(ctx context.Context, o *listOptions) error {
	if o.purpose == forConformance {
		return o.tests()
	}
	var rows []row
	var notes []string
	if o.ground != existingGround {
		nodes, note, err := o.nodes(ctx)
		if err != nil {
			return err
		}
		rows, notes = append(rows, nodes...), append(notes, note...)
	}
	programs, note, err := o.made(ctx)
	if err != nil {
		return err
	}
	rows, notes = append(rows, programs...), append(notes, note...)
	if err := output.List(o.streams.Out, o.flags, table(), rows); err != nil {
		return err
	}
	for _, n := range notes {
		fmt.Fprintln(o.streams.Err, n)
	}
	return nil
}

// tests lists the images of the conformance tests of the Kubernetes that node images have.
func (o *listOptions) tests() error {
	archive, err := o.finder(images.Store{}, nil).Tests()
	if err != nil {
		return err
	}
	rows := []row{}
	if archive != "" {
		names, err := kind.ArchiveImages(archive)
		if err != nil {
			return err
		}
		slices.Sort(names)
		for _, name := range names {
			rows = append(rows, row{Name: name, Grounds: []string{kindGround}, Part: testPart, Kubernetes: o.kubernetes, Where: []string{"cache"}, Archive: archive})
		}
	}
	if err := output.List(o.streams.Out, o.flags, table(), rows); err != nil {
		return err
	}
	if archive == "" {
		fmt.Fprintf(o.streams.Err, "note: no archive has the images of the tests of Kubernetes %s: nodes pull them\ntry: sudo hack/kind-node/build -tests, in a checkout: makes them without a registry\n", o.kubernetes)
	}
	return nil
}

// nodes returns the rows of node images. A missing runtime is a note: the cache can be listed without it.
func (o *listOptions) nodes(ctx context.Context) (rows []row, notes []string, err error) {
	var all []nodeimage.Image
	rt, broken := o.detect(ctx, o.runtime)
	where := ""
	if broken == nil {
		where = rt.Name()
		all, broken = o.finder(images.Store{Runtime: rt}, nil).List(ctx)
	}
	if ctx.Err() != nil {
		return nil, nil, ctx.Err()
	}
	if broken != nil {
		notes = append(notes, "note: "+broken.Error())
		if all, err = o.finder(images.Store{}, nil).Archived(ctx); err != nil {
			return nil, nil, err
		}
	}
	for _, i := range all {
		r := row{
			Name: i.Name, Grounds: []string{kindGround}, Part: nodePart, Kubernetes: i.Kubernetes, Platform: i.Platform,
			Size: i.Size, ID: i.ID, Archive: i.Archive,
		}
		if i.Loaded {
			r.Where = append(r.Where, where)
		}
		if i.Archive != "" {
			r.Where = append(r.Where, "cache")
		}
		rows = append(rows, r)
	}
	if len(rows) == 0 {
		rows = append(rows, row{
			Name: nodeimage.Official + ":" + o.kubernetes, Grounds: []string{kindGround}, Part: nodePart,
			Kubernetes: o.kubernetes, Where: []string{"missing"},
		})
		for way := range strings.SplitSeq(nodeimage.Advice(o.kubernetes), "\n") {
			notes = append(notes, "try: "+way)
		}
	}
	return rows, notes, nil
}

// made are the rows of the images that this program makes of itself. Where it cannot, that is a note.
func (o *listOptions) made(ctx context.Context) (rows []row, notes []string, err error) {
	set, err := o.programs(ctx)
	w := images.NewWriter(io.Discard, build.Version()) // nothing is kept: only digests and sizes are wanted
	if err == nil {
		err = pack(ctx, w, set)
	}
	if ctx.Err() != nil {
		return nil, nil, ctx.Err()
	}
	if err != nil {
		return nil, []string{"note: images of programs cannot be made here: " + err.Error()}, nil
	}
	needing := grounds()
	if o.ground != "" {
		needing = []string{o.ground}
	}
	for _, i := range w.Images() {
		rows = append(rows, row{
			Name: i.Name, Grounds: needing, Part: i.Part, Platform: i.Platform, Size: i.Size, ID: i.ID, Where: []string{"made here"},
		})
	}
	return rows, nil, nil
}

func table() output.Kind[row] {
	type column = output.Column[row]
	return output.Kind[row]{
		Name: "Image",
		Ref:  func(r row) string { return "image/" + r.Name },
		Columns: []column{
			{Header: "NAME", Value: func(r row) string { return r.Name }},
			{Header: "PART", Value: func(r row) string { return r.Part }},
			{Header: "GROUNDS", Value: func(r row) string { return output.Join(r.Grounds) }},
			{Header: "KUBERNETES", Value: func(r row) string { return r.Kubernetes }},
			{Header: "SIZE", Value: func(r row) string { return bytes(r.Size) }},
			{Header: "WHERE", Value: func(r row) string { return output.Join(r.Where) }},
			{Header: "PLATFORM", Wide: true, Value: func(r row) string { return r.Platform }},
			{Header: "ID", Wide: true, Value: func(r row) string { return r.ID }},
			{Header: "ARCHIVE", Wide: true, Value: func(r row) string { return r.Archive }},
		},
	}
}

// bytes is a size, nothing where it is not known.
func bytes(n int64) string {
	if n == 0 {
		return ""
	}
	return output.Bytes(n)
}
