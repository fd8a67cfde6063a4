// Package csi is the flags by which a command chooses what volumes a sandbox has.
package csi

import (
	"context"
	"errors"

	"github.com/spf13/cobra"

	"github.com/vsphere-sandbox/vsphere-sandbox/internal/cli/report"
	"github.com/vsphere-sandbox/vsphere-sandbox/internal/sidecars"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/sandbox"
)

// The values of --csi.
const (
	Builtin = "builtin"
	Off     = "off"
)

// Flags are the flags.
type Flags struct{ Driver string }

// Bind adds them to a command.
func (f *Flags) Bind(cmd *cobra.Command) {
	cmd.Flags().StringVar(&f.Driver, "csi", Builtin, "the CSI driver: builtin (with the stock sidecars), or off for a cluster without volumes")
	// Cannot fail: the flag was added in the line above.
	_ = cmd.RegisterFlagCompletionFunc("csi", cobra.FixedCompletions([]string{Builtin, Off}, cobra.ShellCompDirectiveNoFileComp))
}

// Check refuses values that there are not.
func (f *Flags) Check() error {
	if f.Driver != Builtin && f.Driver != Off {
		return report.UsageError("--csi "+Builtin, "--csi %s: want %s or %s", f.Driver, Builtin, Off)
	}
	return nil
}

// Again are the arguments that say the same to another process; none for the default.
func (f *Flags) Again() []string {
	if f.Driver == "" || f.Driver == Builtin {
		return nil
	}
	return []string{"--csi", f.Driver}
}

// Resolve finds what has to be there.
func (f *Flags) Resolve(ctx context.Context) (sandbox.CSI, error) {
	if f.Driver == Off {
		return sandbox.CSI{}, nil
	}
	program, err := sidecars.Find(ctx)
	var missing *sidecars.NotFoundError
	if errors.As(err, &missing) {
		return sandbox.CSI{}, &report.Error{Code: "no-sidecars", Message: "no volumes", Try: missing.Try() + "\nvsphere-sandbox up --csi off", Exit: report.Prerequisite, Err: err}
	}
	var full *sidecars.NoRoomError
	if errors.As(err, &full) {
		return sandbox.CSI{}, &report.Error{Code: "no-room", Message: "the CSI sidecars cannot be unpacked", Try: full.Try(), Exit: report.Prerequisite, Err: err}
	}
	if err != nil {
		return sandbox.CSI{}, err
	}
	return sandbox.CSI{Enabled: true, Sidecars: program}, nil
}
