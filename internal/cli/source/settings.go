package source

import (
	"strings"

	"github.com/spf13/cobra"

	"github.com/vsphere-sandbox/vsphere-sandbox/internal/cli/report"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/topology"
)

// Settings are the values of --set, in the order of the command line.
type Settings []topology.Setting

// Bind adds --set to a command.
func (s *Settings) Bind(cmd *cobra.Command) {
	cmd.Flags().Var(s, "set", "`NAME=VALUE` of a parameter of the topology; may be repeated")
	// Cannot fail: the flag was added in the line above.
	_ = cmd.RegisterFlagCompletionFunc("set", cobra.NoFileCompletions)
}

// Args are the settings as arguments again, for another process.
func (s Settings) Args() []string {
	var args []string
	for _, one := range s {
		args = append(args, "--set="+one.Name+"="+one.Value)
	}
	return args
}

// String is what the flag package shows of the settings.
func (s *Settings) String() string { return strings.Join(s.Args(), " ") }

// Type is what the flag package calls a value.
func (s *Settings) Type() string { return "setting" }

// Set reads one more setting.
func (s *Settings) Set(text string) error {
	one, err := topology.ParseSetting(text)
	if err != nil {
		return report.UsageError("--set workers=3", "--set: %v", err)
	}
	*s = append(*s, one)
	return nil
}
