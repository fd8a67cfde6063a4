package fault

import (
	"strings"

	"github.com/spf13/cobra"

	"github.com/vsphere-sandbox/vsphere-sandbox/internal/cli/command"
	"github.com/vsphere-sandbox/vsphere-sandbox/internal/cli/report"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/sim/fault"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/sim/fault/catalogue"
)

// settings reads the values of --set for a kind. What the kind does not know is refused here, before a sandbox is asked;
// the values themselves are for the sandbox to judge.
func settings(k *fault.Kind, given []string) (map[string]string, error) {
	values := map[string]string{}
	for _, s := range given {
		name, value, ok := strings.Cut(s, "=")
		if !ok || name == "" {
			return nil, report.UsageError(command.Program+" fault describe "+k.Name, "--set %q is not NAME=VALUE", s)
		}
		if _, twice := values[name]; twice {
			return nil, report.UsageError("--set "+s, "--set %s is there twice", name)
		}
		values[name] = value
	}
	if err := k.Check(values); err != nil {
		return nil, refused(err)
	}
	return values, nil
}

// completeKinds completes the name of a kind.
func completeKinds(_ *cobra.Command, args []string, typed string) ([]string, cobra.ShellCompDirective) {
	if len(args) > 0 {
		return nil, cobra.ShellCompDirectiveNoFileComp
	}
	var words []string
	for _, k := range catalogue.Kinds() {
		if strings.HasPrefix(k.Name, typed) {
			words = append(words, cobra.CompletionWithDesc(k.Name, k.Short))
		}
	}
	return words, cobra.ShellCompDirectiveNoFileComp
}

// completeSettings completes NAME= and, of parameters with few values, NAME=VALUE.
func completeSettings(cmd *cobra.Command, args []string, typed string) ([]string, cobra.ShellCompDirective) {
	const directive = cobra.ShellCompDirectiveNoFileComp | cobra.ShellCompDirectiveNoSpace
	if len(args) == 0 {
		return nil, directive
	}
	k, err := catalogue.Find(args[0])
	if err != nil {
		return nil, directive
	}
	name, value, chosen := strings.Cut(typed, "=")
	var words []string
	for _, p := range k.Params {
		switch {
		case !chosen && strings.HasPrefix(p.Name, name):
			words = append(words, cobra.CompletionWithDesc(p.Name+"=", p.Short))
		case chosen && p.Name == name:
			choices := p.Choices
			if p.Type == fault.Bool {
				choices = []string{"true", "false"}
			}
			for _, c := range begins(choices, value) {
				words = append(words, name+"="+c)
			}
		}
	}
	return words, directive
}

func begins(words []string, typed string) []string {
	var found []string
	for _, w := range words {
		if strings.HasPrefix(w, typed) {
			found = append(found, w)
		}
	}
	return found
}
