package record

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
	"k8s.io/apimachinery/pkg/util/validation"
	"sigs.k8s.io/yaml"

	"github.com/vsphere-sandbox/vsphere-sandbox/internal/atomicfile"
	"github.com/vsphere-sandbox/vsphere-sandbox/internal/cli/command"
	"github.com/vsphere-sandbox/vsphere-sandbox/internal/cli/complete"
	"github.com/vsphere-sandbox/vsphere-sandbox/internal/cli/output"
	"github.com/vsphere-sandbox/vsphere-sandbox/internal/cli/report"
	"github.com/vsphere-sandbox/vsphere-sandbox/internal/cli/vcenterconfig"
	"github.com/vsphere-sandbox/vsphere-sandbox/internal/iostreams"
	"github.com/vsphere-sandbox/vsphere-sandbox/internal/printable"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/vcenter"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/vcenter/record"
)

type options struct {
	streams *iostreams.Streams
	getenv  func(string) string

	real       vcenterconfig.Flags
	file       string
	force      bool
	name       string
	anonymise  bool
	calls      string
	pseudonyms string
	format     string
}

// NewCmdRecord returns the command; runF, when not nil, runs in its place.
func NewCmdRecord(d *command.Deps, runF func(context.Context, *options) error) *cobra.Command {
	o := &options{streams: d.Streams, getenv: d.Getenv, format: output.YAML}
	runF = command.Or(runF, run)
	cmd := &cobra.Command{
		Use:   "record",
		Short: "Record real vCenters as a topology, to run offline",
		Long: `Record real vCenters as a topology: the selected VMs with their hardware,
identities, addresses, folders, pools and tags, their possible hosts,
datastores, networks, regions and zones. "vsphere-sandbox up FILE" then runs it
offline, and its nodes get the labels, UUIDs and host names of the real ones.

The vCenters are those of --vcenter-config, or of govc's variables (GOVC_URL,
GOVC_USERNAME, GOVC_PASSWORD, GOVC_TLS_CA_CERTS and so on). They are only read.
A VM is recorded if it matches every kind of selection flag that is given.

Not recorded: accounts, permissions, storage policies, disks, snapshots and
advanced settings. Differences between the topology and the vCenters are
warnings on standard error.

With --anonymise, neither the file nor the warnings have a name, UUID, MAC,
address or VLAN of the vCenters. Equal names get equal pseudonyms; with
--pseudonyms FILE also in later recordings. That file maps pseudonyms to names:
keep it as secret as the vCenter passwords.

With --calls FILE, the calls of a trace are recorded, and no vCenter is asked:
"up --vcenter-config … --trace FILE" has kept the calls of its programs. They
are written with pseudonyms: all that is no word of the vSphere API, number,
time or reference is replaced. "calls replay" sends them to simulated vCenters
and compares the answers. With the same --pseudonyms FILE, the topology and the
calls have the same names; record the topology first.

Exit status:
  0    recorded
  1    a vCenter could not be read
  2    wrong flag or vsphere.conf
  130  interrupted; nothing was written`,
		Example: `  vsphere-sandbox record --vcenter-config vsphere.conf --folder k8s -f prod.yaml
  vsphere-sandbox record --tag env:prod --nodes 'worker-*' --control-plane 'cp-*' > prod.yaml
  vsphere-sandbox record --vcenter-config vsphere.conf --anonymise --pseudonyms map.json -f bug.yaml
  vsphere-sandbox record --calls run.trace --pseudonyms map.json -f bug.trace
  vsphere-sandbox up prod.yaml`,
		Args:              command.NoArgs,
		ValidArgsFunction: complete.None,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if err := o.complete(cmd.Flags()); err != nil {
				return err
			}
			return runF(cmd.Context(), o)
		},
	}
	o.real.Bind(cmd)
	o.real.BindNodes(cmd)
	f := cmd.Flags()
	f.StringVarP(&o.file, "file", "f", "", "`FILE` to write, readable only by you (default: standard output)")
	f.BoolVar(&o.force, "force", false, "overwrite the file")
	f.StringVar(&o.name, "name-of-topology", "recorded", "`NAME` of the topology")
	f.BoolVar(&o.anonymise, "anonymise", false, "write pseudonyms in place of names, UUIDs, MACs, addresses and VLANs")
	f.BoolVar(&o.anonymise, "anonymize", false, "")
	_ = f.MarkHidden("anonymize") // as others spell it; its only error is an unknown flag
	f.StringVar(&o.pseudonyms, "pseudonyms", "", "`FILE` that maps pseudonyms to names; read if it exists, and written")
	f.StringVar(&o.calls, "calls", "", "record the calls of this `TRACE` of \"up --trace\", with pseudonyms")
	output.BindFormat(cmd, &o.format, output.YAML, output.JSON)
	return cmd
}

// complete checks what can be checked before anybody is asked.
func (o *options) complete(flags *pflag.FlagSet) error {
	var without string
	flags.Visit(func(f *pflag.Flag) {
		if !slices.Contains([]string{"calls", "anonymise", "anonymize", "pseudonyms", "file", "force", "name"}, f.Name) {
			without = f.Name
		}
	})
	if wrong := validation.IsDNS1123Label(o.name); len(wrong) > 0 {
		return report.UsageError("--name-of-topology prod", "--name-of-topology %q: %s", o.name, wrong[0])
	}
	switch {
	case o.calls != "" && without != "":
		return report.UsageError("record --calls "+o.calls, "--%s has no effect with --calls, which asks no vCenter", without)
	case o.calls != "" && (o.calls == o.file || o.calls == o.pseudonyms):
		return report.UsageError("--file "+o.calls+".anonymous", "%s would be written over while it is read", o.calls)
	case o.pseudonyms != "" && !o.anonymise && o.calls == "":
		return report.UsageError("--anonymise", "--pseudonyms has no effect without --anonymise or --calls")
	case o.force && o.file == "":
		return report.UsageError("--file FILE", "--force has no effect without --file")
	case o.file != "" && o.file == o.pseudonyms:
		return report.UsageError("--pseudonyms "+o.file+".pseudonyms", "--file and --pseudonyms are one file, %s", o.file)
	}
	return nil
}

// unwritable is the error for a file that cannot be written.
func unwritable(err error) error {
	return &report.Error{
		Code: "file-unwritable", Message: fmt.Sprint(err), Exit: report.Prerequisite, Try: "another file, in an existing folder that you can write to",
	}
}

// ask reads the vCenters, and says what is being waited for where that takes long.
func (o *options) ask(ctx context.Context, c *vcenter.Config, ro record.Options) (*record.Recording, error) {
	progress := vcenterconfig.NewProgress(o.streams.Err, o.streams.ErrTTY())
	defer progress.Close()
	var names []string
	for _, v := range c.VCenters {
		names = append(names, fmt.Sprintf("%q", v.Name))
	}
	who := "vcenter " + strings.Join(names, ", ")
	progress.Step(who + ": login")
	connections, done, err := vcenterconfig.Connect(ctx, c)
	if err != nil {
		return nil, err
	}
	defer done()
	progress.Step(who + ": inventory")
	ro.OnStep = func(vcenter, what string) { progress.Step(fmt.Sprintf("vcenter %q: %s", vcenter, what)) }
	r, err := record.Record(ctx, connections, ro)
	if err != nil {
		return nil, explain(ctx, err)
	}
	return r, nil
}

// pending is a file that is not there before it is complete.
type pending struct {
	*atomicfile.File
	path  string
	force bool
}

// create makes one for its owner only. A file that is there is replaced with force only, and stays until then.
func create(path string, force bool) (*pending, error) {
	switch info, err := os.Lstat(path); {
	case err == nil && !force:
		return nil, there(path)
	case err == nil && info.IsDir():
		return nil, unwritable(fmt.Errorf("%s: is a directory", path))
	}
	f, err := atomicfile.Create(path, 0o600)
	if err != nil {
		return nil, unwritable(err)
	}
	return &pending{f, path, force}, nil
}

// keep writes the text and puts the file in its place, in one step.
func (p *pending) keep(text []byte) error {
	_, err := p.Write(text)
	err = errors.Join(err, p.Sync())
	switch {
	case err == nil && p.force:
		err = p.Commit()
	case err == nil:
		err = p.CommitNew()
	}
	switch {
	case errors.Is(err, fs.ErrExist) && !p.force:
		return there(p.path)
	case err != nil:
		return unwritable(err)
	}
	return nil
}

func there(path string) error {
	return &report.Error{Code: "file-exists", Message: path + " already exists", Try: "--force   # to overwrite it", Exit: report.Usage}
}

func run(ctx context.Context, o *options) error {
	if o.calls != "" {
		return o.recordCalls()
	}
	real, err := o.real.Complete(o.getenv)
	if err != nil {
		return err
	}
	for _, w := range real.Config.Warnings {
		fmt.Fprintln(o.streams.Err, "warning:", printable.Line(w))
	}
	ro := record.Options{
		Name: o.name, Selection: real.Selection, Nodes: real.Nodes, ControlPlane: real.ControlPlane,
		Categories: vcenterconfig.Categories(real.Config),
	}
	if ro.Pseudonyms, err = o.loadPseudonyms(); err != nil {
		return err
	}
	// Before anybody is asked: a file that cannot be written is better known now.
	var out *pending
	if o.file != "" {
		if out, err = create(o.file, o.force); err != nil {
			return err
		}
		defer out.Discard()
	}
	recorded, err := o.ask(ctx, real.Config, ro)
	if err != nil {
		return err
	}
	o.warn(recorded.Warnings)
	if o.pseudonyms != "" { // first: a recording without its map is of no use
		if err := ro.Pseudonyms.Save(o.pseudonyms); err != nil {
			return unwritable(err)
		}
	}
	return o.write(out, recorded)
}

func (o *options) loadPseudonyms() (*record.Pseudonyms, error) {
	switch {
	case !o.anonymise && o.calls == "":
		return nil, nil
	case o.pseudonyms == "":
		return new(record.Pseudonyms), nil
	}
	p, err := record.LoadPseudonyms(o.pseudonyms)
	if err != nil {
		return nil, &report.Error{Code: "pseudonyms-invalid", Message: err.Error(), Exit: report.Usage, Try: "name another file; it need not exist"}
	}
	return p, nil
}

// write puts the topology where it belongs, and says what it holds.
func (o *options) write(out *pending, r *record.Recording) error {
	text := r.File
	if o.format == output.JSON {
		var err error
		if text, err = yaml.YAMLToJSON(text); err != nil {
			return err
		}
		text = append(text, '\n')
	}
	if out == nil {
		_, err := o.streams.Out.Write(text)
		return err
	}
	if err := out.keep(text); err != nil {
		return err
	}
	fmt.Fprintf(o.streams.Err, "%s: %s\ntry: %s up %[1]s\n", o.file, r.Topology.Count(), command.Typed(os.Args[0]))
	if len(r.Topology.Nodes()) == 0 {
		fmt.Fprintln(o.streams.Err, "note: none of its VMs is a node: no guest reports a hostname, or --nodes is no name of theirs")
	}
	return nil
}

// most is how many warnings a terminal is shown.
const most = 30

// warn prints the differences of a recording from the vCenters.
func (o *options) warn(all []string) {
	shown := all
	if o.streams.ErrTTY() && len(all) > most {
		shown = all[:most]
	}
	for _, w := range shown {
		fmt.Fprintln(o.streams.Err, "warning:", printable.Line(w))
	}
	if more := len(all) - len(shown); more > 0 {
		fmt.Fprintf(o.streams.Err, "and %d more; 2> FILE keeps them all\n", more)
	}
}

// explain adds to what vcenterconfig knows.
func explain(ctx context.Context, err error) error {
	if err = vcenterconfig.Explain(ctx, err); err == nil || ctx.Err() != nil {
		return err
	}
	if own := (*report.Error)(nil); errors.As(err, &own) {
		return err
	}
	return &report.Error{
		Code: "not-recorded", Message: err.Error(), Try: "check the selection, and that the account may read what it names\nvsphere-sandbox doctor --vcenter-config FILE",
	}
}
