package man

import (
	"bytes"
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
)

// name is that of a command's page: vsphere-sandbox-vm-power-off.
func name(cmd *cobra.Command) string { return strings.ReplaceAll(cmd.CommandPath(), " ", "-") }

// page is the manual page of a command, of the program's version. The same command makes the same page: there is no date.
func page(cmd *cobra.Command, version string) []byte {
	// Cobra adds both when a command runs, which this one need not have done.
	cmd.InitDefaultHelpFlag()
	cmd.InitDefaultVersionFlag()
	var b bytes.Buffer
	fmt.Fprintf(&b, ".TH %s 1 \"\" %s %s\n", quoted(strings.ToUpper(name(cmd))), quoted(cmd.Root().Name()+" "+version), quoted(cmd.Root().Name()+" manual"))
	// No hyphenation and no justification.
	b.WriteString(".nh\n.ad l\n")
	fmt.Fprintf(&b, ".SH NAME\n%s \\- %s\n", text(name(cmd)), text(cmd.Short))
	b.WriteString(".SH SYNOPSIS\n")
	fmt.Fprintf(&b, ".B %s\n", text(synopsis(cmd)))
	b.WriteString(".SH DESCRIPTION\n")
	asIs(&b, cmp.Or(cmd.Long, cmd.Short+"."))
	commands(&b, cmd)
	flags(&b, "OPTIONS", cmd.LocalFlags())
	flags(&b, "GLOBAL OPTIONS", cmd.InheritedFlags())
	if cmd.Example != "" {
		b.WriteString(".SH EXAMPLES\n")
		asIs(&b, cmd.Example)
	}
	related(&b, cmd)
	return b.Bytes()
}

func synopsis(cmd *cobra.Command) string {
	if cmd.HasAvailableSubCommands() {
		return cmd.CommandPath() + " COMMAND"
	}
	return cmd.UseLine()
}

// commands lists those below, in the order of the help.
func commands(b *bytes.Buffer, cmd *cobra.Command) {
	if !cmd.HasAvailableSubCommands() {
		return
	}
	b.WriteString(".SH COMMANDS\n")
	for _, c := range cmd.Commands() {
		if c.IsAvailableCommand() {
			fmt.Fprintf(b, ".TP\n.B %s\n%s\n", text(c.Name()), text(c.Short))
		}
	}
}

func flags(b *bytes.Buffer, title string, set *pflag.FlagSet) {
	if !set.HasAvailableFlags() {
		return
	}
	fmt.Fprintf(b, ".SH %s\n", title)
	set.VisitAll(func(f *pflag.Flag) {
		if f.Hidden {
			return
		}
		value, usage := pflag.UnquoteUsage(f)
		spelled := "--" + f.Name
		if f.Shorthand != "" {
			spelled = "-" + f.Shorthand + ", " + spelled
		}
		if value != "" {
			spelled += " " + value
		}
		if !slices.Contains([]string{"", "0", "0s", "false", "[]"}, f.DefValue) {
			usage += " (default " + f.DefValue + ")"
		}
		fmt.Fprintf(b, ".TP\n.B %s\n%s\n", text(spelled), text(usage))
	})
}

// related names the pages above and below.
func related(b *bytes.Buffer, cmd *cobra.Command) {
	var pages []string
	if cmd.HasParent() {
		pages = append(pages, name(cmd.Parent()))
	}
	for _, c := range cmd.Commands() {
		if c.IsAvailableCommand() {
			pages = append(pages, name(c))
		}
	}
	if len(pages) == 0 {
		return
	}
	b.WriteString(".SH SEE ALSO\n")
	for i, p := range pages {
		comma := ","
		if i == len(pages)-1 {
			comma = ""
		}
		fmt.Fprintf(b, ".BR %s (1)%s\n", text(p), comma)
	}
}
