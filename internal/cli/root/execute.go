package root

import (
	"context"
	"errors"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/vsphere-sandbox/vsphere-sandbox/internal/cli/output"
	"github.com/vsphere-sandbox/vsphere-sandbox/internal/cli/report"
	"github.com/vsphere-sandbox/vsphere-sandbox/internal/iostreams"
	"github.com/vsphere-sandbox/vsphere-sandbox/internal/nearest"
)

// Execute runs the root command with the arguments after the program's name, prints the error if there is one, and
// returns the exit status.
func Execute(ctx context.Context, root *cobra.Command, args []string, streams *iostreams.Streams) int {
	if args == nil {
		args = []string{} // nil means those of the process
	}
	root.SetArgs(args)
	root.SetIn(streams.In)
	root.SetOut(streams.Out)
	root.SetErr(streams.Err)
	cmd, err := root.ExecuteContextC(ctx)
	if err == nil {
		return report.OK
	}
	if cmd == nil {
		cmd = root
	}
	r := report.Of(usageError(cmd, err))
	// There is nowhere left to tell that telling failed.
	_ = report.Write(streams.Err, format(cmd, args), r)
	return r.Exit
}

// usageError makes a usage error of those that cobra and pflag return as they are.
func usageError(cmd *cobra.Command, err error) error {
	var (
		missing *pflag.ValueRequiredError
		invalid *pflag.InvalidValueError
		syntax  *pflag.InvalidSyntaxError
		unknown *pflag.NotExistError
		ours    *report.Error
	)
	switch {
	case errors.As(err, &ours):
		return err
	case errors.As(err, &missing), errors.As(err, &invalid), errors.As(err, &syntax), errors.As(err, &unknown):
		return flagError(cmd, err)
	case strings.HasPrefix(err.Error(), "unknown command "), strings.HasPrefix(err.Error(), "required flag(s) "):
		return report.UsageError(cmd.CommandPath()+" --help", "%v", err)
	}
	return err
}

// flagError explains what pflag did not understand.
func flagError(cmd *cobra.Command, err error) error {
	if ours, ok := errors.AsType[*report.Error](err); ok { // a flag of ours that explains itself
		return ours
	}
	try := cmd.CommandPath() + " --help"
	if wrong, ok := errors.AsType[*pflag.InvalidValueError](err); ok {
		return report.UsageError(try, "--%s %s: want %s", wrong.GetFlag().Name, wrong.GetValue(), wanted(wrong.GetFlag()))
	}
	var unknown *pflag.NotExistError
	if !errors.As(err, &unknown) {
		return report.UsageError(try, "%v", err)
	}
	name := unknown.GetSpecifiedName()
	if shorts := unknown.GetSpecifiedShortnames(); shorts != "" {
		return report.UsageError(try, "%s has no flag -%s", cmd.CommandPath(), name)
	}
	var names []string
	cmd.Flags().VisitAll(func(f *pflag.Flag) {
		if !f.Hidden {
			names = append(names, f.Name)
		}
	})
	if guess := nearest.Of(name, names); guess != "" {
		try = "--" + guess
	}
	return report.UsageError(try, "%s has no flag --%s", cmd.CommandPath(), name)
}

// wanted says what a flag takes.
func wanted(f *pflag.Flag) string {
	switch t := f.Value.Type(); t {
	case "bool":
		return "true or false"
	case "int", "int32", "int64", "uint", "uint16", "uint32", "uint64", "count":
		return "a whole number"
	case "float32", "float64":
		return "a number"
	case "duration":
		return "a time such as 30s, 5m or 1h30m"
	default:
		return "a " + t
	}
}

// format returns the format that the user wants to read errors in. Arguments are looked at, too, because the one that
// was not understood may stand before -o.
func format(cmd *cobra.Command, args []string) string {
	flag := cmd.Flags().Lookup("output")
	if flag == nil {
		return output.Text
	}
	if f := flag.Value.String(); flag.Changed && (f == output.JSON || f == output.YAML) {
		return f
	}
	for i, a := range args {
		if a == "--" {
			break
		}
		for _, f := range []string{output.JSON, output.YAML} {
			if slices.Contains([]string{"-o" + f, "-o=" + f, "--output=" + f}, a) ||
				(a == "-o" || a == "--output") && i+1 < len(args) && args[i+1] == f {
				return f
			}
		}
	}
	return output.Text
}
