package record

import (
	"context"
	"errors"
	"fmt"

	"sigs.k8s.io/yaml"

	"github.com/vsphere-sandbox/vsphere-sandbox/internal/cli/command"
	"github.com/vsphere-sandbox/vsphere-sandbox/internal/cli/output"
	"github.com/vsphere-sandbox/vsphere-sandbox/internal/cli/report"
	"github.com/vsphere-sandbox/vsphere-sandbox/internal/cli/vcenterconfig"
	"github.com/vsphere-sandbox/vsphere-sandbox/internal/printable"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/vcenter/record"
)

func run(ctx context.Context, o *options) error {
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
	case !o.anonymise:
		return nil, nil
	case o.pseudonyms == "":
		return new(record.Pseudonyms), nil
	}
	p, err := record.LoadPseudonyms(o.pseudonyms)
	if err != nil {
		return nil, &report.Error{Code: "pseudonyms-invalid", Message: err.Error(), Exit: report.Usage, Try: "name another file, which need not be there"}
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
	fmt.Fprintf(o.streams.Err, "%s: %s\ntry: %s up %[1]s\n", o.file, r.Topology.Count(), command.Program)
	if len(r.Topology.Nodes()) == 0 {
		fmt.Fprintln(o.streams.Err, "note: none of its VMs is a node: no guest reports a hostname, or --nodes is no name of theirs")
	}
	return nil
}

// most is how many warnings a terminal is shown.
const most = 30

// warn tells what is otherwise than in the vCenters.
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
