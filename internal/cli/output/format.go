package output

import (
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/vsphere-sandbox/vsphere-sandbox/internal/cli/report"
	"github.com/vsphere-sandbox/vsphere-sandbox/internal/nearest"
)

// The formats.
const (
	Text  = ""      // what a command prints by itself
	Plain = "table" // a table
	Wide  = "wide"  // a table with more columns
	JSON  = "json"
	YAML  = "yaml"
	Names = "name" // kind/name, one a line
)

// Flags are the flags that choose the format. The zero value prints tables with headers.
type Flags struct {
	Format    string
	NoHeaders bool
}

// Bind adds -o to a command that prints a table.
func (f *Flags) Bind(cmd *cobra.Command) {
	f.Format = Plain
	bind(cmd, &f.Format, Plain, Wide, JSON, YAML, Names)
	cmd.Flags().BoolVar(&f.NoHeaders, "no-headers", false, "print no header line above the table")
}

// BindFormat adds -o to a command that prints text of its own by default; formats are the others.
func BindFormat(cmd *cobra.Command, format *string, formats ...string) { bind(cmd, format, formats...) }

func bind(cmd *cobra.Command, format *string, formats ...string) {
	cmd.Flags().VarP(&choice{format, formats}, "output", "o", "output format: "+strings.Join(formats, ", "))
	// Cannot fail: the flag was added in the line above.
	_ = cmd.RegisterFlagCompletionFunc("output", cobra.FixedCompletions(formats, cobra.ShellCompDirectiveNoFileComp))
}

// choice is a flag that takes one of several words.
type choice struct {
	value   *string
	choices []string
}

func (c *choice) String() string { return *c.value }
func (c *choice) Type() string   { return "format" }

func (c *choice) Set(s string) error {
	if slices.Contains(c.choices, s) {
		*c.value = s
		return nil
	}
	try := "-o " + strings.Join(c.choices, "|")
	if guess := nearest.Of(s, c.choices); guess != "" {
		try = "-o " + guess
	}
	return report.UsageError(try, "there is no output format %q", s)
}
