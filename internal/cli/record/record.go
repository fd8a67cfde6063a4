package record

import (
	"context"
	"fmt"
	"strings"

	"github.com/spf13/cobra"
	"k8s.io/apimachinery/pkg/util/validation"

	"github.com/vsphere-sandbox/vsphere-sandbox/internal/cli/command"
	"github.com/vsphere-sandbox/vsphere-sandbox/internal/cli/complete"
	"github.com/vsphere-sandbox/vsphere-sandbox/internal/cli/output"
	"github.com/vsphere-sandbox/vsphere-sandbox/internal/cli/report"
	"github.com/vsphere-sandbox/vsphere-sandbox/internal/cli/vcenterconfig"
	"github.com/vsphere-sandbox/vsphere-sandbox/internal/iostreams"
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
	pseudonyms string
	format     string
}

// NewCmdRecord returns the command; runF, when not nil, runs in its place.
func NewCmdRecord(d *command.Deps, runF func(context.Context, *options) error) *cobra.Command {
	o := &options{streams: d.Streams, getenv: d.Getenv, format: output.YAML}
	if runF == nil {
		runF = run
	}
	cmd := &cobra.Command{
		Use:   "record",
		Short: "Make a topology of real vCenters, to run offline",
		Long: `Make a topology of real vCenters: of the chosen VMs with their hardware,
identities, addresses, folders, pools and tags, the hosts that they may run on,
datastores, networks, regions and zones. "vsphere-sandbox up FILE" then runs it
offline, and its nodes get the labels, UUIDs and host names of the real ones.

Which vCenters is said by --vcenter-config; without it, by govc's variables
(GOVC_URL, GOVC_USERNAME, GOVC_PASSWORD, GOVC_TLS_CA_CERTS and so on). They are
only read. A VM is chosen that each kind of flag that is given has an entry for.

Not recorded: accounts, permissions, storage policies, disks, snapshots and
advanced settings. What is otherwise in the topology than in the vCenters is a
warning on standard error.

With --anonymise no name, UUID, MAC, address or VLAN of the vCenters is in the
file, nor in the warnings. What is one stays one: with --pseudonyms in every
recording that is made with the same file, which tells what stands for what and
is to be kept where the vCenters' passwords are.

Exit status: 0 when it is recorded, 1 when a vCenter does not tell, 2 for a bad
flag or vsphere.conf, 130 when it was interrupted; then nothing is written.`,
		Example: `  vsphere-sandbox record --vcenter-config vsphere.conf --folder k8s -f prod.yaml
  vsphere-sandbox record --tag env:prod --nodes 'worker-*' --control-plane 'cp-*' > prod.yaml
  vsphere-sandbox record --vcenter-config vsphere.conf --anonymise --pseudonyms map.json -f bug.yaml
  vsphere-sandbox up prod.yaml`,
		Args:              command.NoArgs,
		ValidArgsFunction: complete.None,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if err := o.complete(); err != nil {
				return err
			}
			return runF(cmd.Context(), o)
		},
	}
	o.real.Bind(cmd)
	o.real.BindNodes(cmd)
	f := cmd.Flags()
	f.StringVarP(&o.file, "file", "f", "", "`FILE` to write, for its owner's eyes only (default: standard output)")
	f.BoolVar(&o.force, "force", false, "replace a file that is there")
	f.StringVar(&o.name, "name-of-topology", "recorded", "`NAME` of the topology")
	f.BoolVar(&o.anonymise, "anonymise", false, "write pseudonyms in place of names, UUIDs, MACs, addresses and VLANs")
	f.BoolVar(&o.anonymise, "anonymize", false, "")
	_ = f.MarkHidden("anonymize") // as others spell it; its only error is an unknown flag
	f.StringVar(&o.pseudonyms, "pseudonyms", "", "`FILE` of the pseudonyms, which is read if it is there, and written; for its owner's eyes only")
	output.BindFormat(cmd, &o.format, output.YAML, output.JSON)
	return cmd
}

// complete checks what can be checked before anybody is asked.
func (o *options) complete() error {
	if wrong := validation.IsDNS1123Label(o.name); len(wrong) > 0 {
		return report.UsageError("--name-of-topology prod", "--name-of-topology %q: %s", o.name, wrong[0])
	}
	switch {
	case o.pseudonyms != "" && !o.anonymise:
		return report.UsageError("--anonymise", "--pseudonyms means nothing without --anonymise")
	case o.force && o.file == "":
		return report.UsageError("--file FILE", "--force means nothing without --file")
	case o.file != "" && o.file == o.pseudonyms:
		return report.UsageError("--pseudonyms "+o.file+".pseudonyms", "--file and --pseudonyms are one file, %s", o.file)
	}
	return nil
}

// unwritable is the error for a file that cannot be written.
func unwritable(err error) error {
	return &report.Error{
		Code: "file-unwritable", Message: fmt.Sprint(err), Exit: report.Prerequisite, Try: "another file, in a folder that is there and that you may write",
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
