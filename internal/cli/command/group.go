package command

import (
	"github.com/spf13/cobra"

	"github.com/vsphere-sandbox/vsphere-sandbox/internal/cli/report"
	"github.com/vsphere-sandbox/vsphere-sandbox/internal/nearest"
)

// Group makes cmd one that only has commands below it: alone it prints its help, and a word that is none of them is a
// usage error with a guess.
func Group(cmd *cobra.Command, children ...*cobra.Command) *cobra.Command {
	cmd.AddCommand(children...)
	cmd.Args = func(cmd *cobra.Command, args []string) error {
		if len(args) == 0 {
			return nil
		}
		return UnknownCommand(cmd, args[0])
	}
	cmd.RunE = func(cmd *cobra.Command, _ []string) error { return cmd.Help() }
	return cmd
}

// UnknownCommand is the error for a word that is no command of cmd's.
func UnknownCommand(cmd *cobra.Command, word string) error {
	var names []string
	for _, c := range cmd.Commands() {
		if c.IsAvailableCommand() {
			names = append(append(names, c.Name()), c.Aliases...)
		}
	}
	try := cmd.CommandPath() + " --help"
	if guess := nearest.Of(word, names); guess != "" {
		try = cmd.CommandPath() + " " + guess
	}
	return report.UsageError(try, "there is no command %q", cmd.CommandPath()+" "+word)
}

// NoArgs refuses arguments.
func NoArgs(cmd *cobra.Command, args []string) error { return count(cmd, args, 0, 0, "") }

// AtLeastOne wants one argument or more; what names it, in capitals.
func AtLeastOne(what string) cobra.PositionalArgs {
	return func(cmd *cobra.Command, args []string) error { return count(cmd, args, 1, -1, what) }
}

// ExactlyOne wants one argument; what names it, in capitals.
func ExactlyOne(what string) cobra.PositionalArgs {
	return func(cmd *cobra.Command, args []string) error { return count(cmd, args, 1, 1, what) }
}

// AtMostOne wants one argument or none.
func AtMostOne(cmd *cobra.Command, args []string) error { return count(cmd, args, 0, 1, "") }

// count checks the number of arguments; most < 0 means any number.
func count(cmd *cobra.Command, args []string, least, most int, what string) error {
	try := cmd.CommandPath() + " --help"
	switch {
	case len(args) < least:
		return report.UsageError(try, "%s needs a %s", cmd.CommandPath(), what)
	case most >= 0 && len(args) > most:
		return report.UsageError(try, "%s does not understand the argument %q", cmd.CommandPath(), args[most])
	}
	return nil
}
