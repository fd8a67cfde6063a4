package fault

import (
	"context"
	"strings"

	"github.com/spf13/cobra"

	"github.com/vsphere-sandbox/vsphere-sandbox/internal/cli/command"
	"github.com/vsphere-sandbox/vsphere-sandbox/internal/cli/output"
	"github.com/vsphere-sandbox/vsphere-sandbox/internal/iostreams"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/sim/fault"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/sim/fault/catalogue"
)

// kind is a kind of fault as programs get it.
type kind struct {
	Name      string        `json:"name"`
	Theme     string        `json:"theme"`
	Short     string        `json:"short"`
	Long      string        `json:"long,omitempty"`
	Object    fault.Object  `json:"object"`
	Params    []fault.Param `json:"params,omitempty"`
	Needs     []fault.Need  `json:"needs,omitempty"`
	Momentary bool          `json:"momentary,omitempty"`
	Reported  []string      `json:"reported,omitempty"`
}

func newKind(theme string, k *fault.Kind) kind {
	return kind{
		Name: k.Name, Theme: theme, Short: k.Short, Long: k.Long, Object: k.Object, Params: k.Params, Needs: k.Needs,
		Momentary: k.Momentary, Reported: k.Reported,
	}
}

// kinds shows kinds of faults.
func kinds() output.Kind[kind] {
	type column = output.Column[kind]
	return output.Kind[kind]{
		Name: "Fault",
		Ref:  func(k kind) string { return "fault/" + k.Name },
		Columns: []column{
			{Header: "FAULT", Value: func(k kind) string { return k.Name }},
			{Header: "HAPPENS-TO", Value: func(k kind) string { return string(k.Object) }},
			{Header: "WHAT", Value: func(k kind) string { return k.Short }},
			{Header: "THEME", Wide: true, Value: func(k kind) string { return k.Theme }},
			{Header: "PARAMETERS", Wide: true, Value: func(k kind) string { return output.Join(paramNames(k.Params)) }},
			{Header: "NEEDS", Wide: true, Value: func(k kind) string {
				words := make([]string, len(k.Needs))
				for i, n := range k.Needs {
					words[i] = string(n)
				}
				return output.Join(words)
			}},
		},
	}
}

func paramNames(params []fault.Param) []string {
	names := make([]string, len(params))
	for i, p := range params {
		names[i] = p.Name
	}
	return names
}

type listOptions struct {
	streams *iostreams.Streams
	theme   string
	flags   output.Flags
}

// NewCmdList returns the command; runF, when not nil, runs in its place.
func NewCmdList(d *command.Deps, runF func(context.Context, *listOptions) error) *cobra.Command {
	o := &listOptions{streams: d.Streams}
	if runF == nil {
		runF = runList
	}
	cmd := &cobra.Command{
		Use:   "list [THEME]",
		Short: "List what can be broken",
		Long: `List what can be broken, all of it or one theme:
` + strings.Join(themeNames(), ", ") + `.

It takes no sandbox.`,
		Example: `  vsphere-sandbox fault list
  vsphere-sandbox fault list api -o wide`,
		Args: command.AtMostOne,
		ValidArgsFunction: func(_ *cobra.Command, args []string, typed string) ([]string, cobra.ShellCompDirective) {
			if len(args) > 0 {
				return nil, cobra.ShellCompDirectiveNoFileComp
			}
			return begins(themeNames(), typed), cobra.ShellCompDirectiveNoFileComp
		},
		RunE: func(cmd *cobra.Command, args []string) error {
			if len(args) > 0 {
				o.theme = args[0]
			}
			return runF(cmd.Context(), o)
		},
	}
	o.flags.Bind(cmd)
	return cmd
}

func runList(_ context.Context, o *listOptions) error {
	themes := catalogue.Themes()
	if o.theme != "" {
		t, err := catalogue.FindTheme(o.theme)
		if err != nil {
			return refused(err)
		}
		themes = []catalogue.Theme{t}
	}
	var all []kind
	for _, t := range themes {
		for _, k := range t.Kinds {
			all = append(all, newKind(t.Name, k))
		}
	}
	return output.List(o.streams.Out, o.flags, kinds(), all)
}

func themeNames() []string {
	var names []string
	for _, t := range catalogue.Themes() {
		names = append(names, t.Name)
	}
	return names
}
