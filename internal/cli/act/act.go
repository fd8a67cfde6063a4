// Package act does the same to each of several named objects, and reports the results.
//
// Floor 5.
package act

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/vsphere-sandbox/vsphere-sandbox/internal/cli/confirm"
	"github.com/vsphere-sandbox/vsphere-sandbox/internal/cli/output"
	"github.com/vsphere-sandbox/vsphere-sandbox/internal/cli/report"
	"github.com/vsphere-sandbox/vsphere-sandbox/internal/iostreams"
	"github.com/vsphere-sandbox/vsphere-sandbox/internal/printable"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/sandbox/api"
)

// Result is what was done to one object, as programs get it.
type Result struct {
	Object  string `json:"object"` // vm/worker-1
	Message string `json:"message"`
	// Seq is the event that it made.
	Seq uint64 `json:"seq,omitempty"`
}

// Each does something to each name in turn and prints what was done as it goes; with JSON and YAML, all of it at the
// end. One that cannot be done does not keep it from the others, nor does one that a person declined, which is no error; kind
// is what the names are of.
func Each(ctx context.Context, streams *iostreams.Streams, format, kind string, names []string, do func(context.Context, string) (api.Done, error)) error {
	var results []Result
	var errs []error
	for _, name := range names {
		done, err := do(ctx, name)
		if ctx.Err() != nil {
			return ctx.Err()
		}
		if errors.Is(err, confirm.ErrDeclined) {
			continue
		}
		if err != nil {
			errs = append(errs, err)
			continue
		}
		r := Result{Object: kind + "/" + name, Message: done.Message, Seq: done.Seq}
		results = append(results, r)
		switch format {
		case output.JSON, output.YAML:
		case output.Names:
			fmt.Fprintln(streams.Out, printable.Line(r.Object))
		default:
			fmt.Fprintln(streams.Out, printable.Line(r.Message))
		}
	}
	if format == output.JSON || format == output.YAML {
		if err := output.List(streams.Out, output.Flags{Format: format}, output.Kind[Result]{Name: "Result"}, results); err != nil {
			return err
		}
	}
	return join(errs)
}

// join makes one error of several, with the code and the way out of the first.
func join(errs []error) error {
	if len(errs) < 2 {
		for _, err := range errs {
			return err
		}
		return nil
	}
	first := report.Of(errs[0])
	all := make([]string, len(errs))
	for i, err := range errs {
		all[i] = err.Error()
	}
	return &report.Error{Code: first.Code, Message: strings.Join(all, "; "), Try: first.Try, Exit: first.Exit}
}
