package confirm

import (
	"context"
	"errors"
	"fmt"

	"github.com/spf13/cobra"

	"github.com/vsphere-sandbox/vsphere-sandbox/internal/cli/report"
	"github.com/vsphere-sandbox/vsphere-sandbox/internal/iostreams"
	"github.com/vsphere-sandbox/vsphere-sandbox/internal/printable"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/sandbox/api"
)

// Flags is how a command asks for confirmation. The zero value asks on the terminal.
type Flags struct {
	// Yes is the answer to every question.
	Yes bool
}

// Bind adds --yes to a command.
func (a *Flags) Bind(cmd *cobra.Command) {
	cmd.Flags().BoolVarP(&a.Yes, "yes", "y", false, "do not ask for confirmation, also for VMs of real vCenters")
}

// Consent is what a request is made with.
type Consent struct {
	// Confirmed says that the request is confirmed.
	Confirmed bool
	// Seed is what the fault that was consented to has drawn; 0 where nothing was drawn yet.
	Seed uint64
}

// ErrDeclined means that the user declined, which was printed already.
var ErrDeclined = errors.New("not confirmed; nothing was done")

// Do makes a request, and once more with consent when a person gives it. The error is that of the request, or [ErrDeclined],
// or that of ctx. request itself sees to its time limits: people may take theirs.
func Do[T any](ctx context.Context, streams *iostreams.Streams, asking Flags, request func(Consent) (T, error)) (T, error) {
	v, err := request(Consent{Confirmed: asking.Yes})
	reported := api.Unconfirmed(err)
	if reported == nil || asking.Yes {
		return v, err
	}
	var none T
	if !streams.Interactive() {
		return none, &report.Error{Code: reported.Code, Message: "nothing was done: a confirmation is needed, and there is no terminal to ask at: " + reported.Message, Try: reported.Try, Exit: report.Usage}
	}
	switch ok, err := streams.Confirm(ctx, printable.Lines(reported.Message)+". Do it?"); {
	case err != nil:
		return none, err
	case !ok:
		fmt.Fprintln(streams.Err, "nothing was done")
		return none, ErrDeclined
	}
	return request(Consent{Confirmed: true, Seed: reported.Seed})
}
