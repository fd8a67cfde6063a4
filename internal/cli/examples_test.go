package cli

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/spf13/cobra"

	"github.com/vsphere-sandbox/vsphere-sandbox/internal/cli/root"
	"github.com/vsphere-sandbox/vsphere-sandbox/internal/tutorial"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/sim/fault"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/sim/fault/catalogue"
	"github.com/vsphere-sandbox/vsphere-sandbox/scenarios"
	"github.com/vsphere-sandbox/vsphere-sandbox/tutorials"
)

// Every example in every help is one that the program would take, up to where it would begin to work: commands, flags and
// their values, numbers of arguments, and the names of what is built in.
func TestExamples(t *testing.T) {
	_, all := tree(t)
	count := 0
	walk(all, func(cmd *cobra.Command) {
		for line := range strings.SplitSeq(cmd.Example, "\n") {
			for _, args := range invocations(line) {
				count++
				if err := try(t, args); err != nil {
					t.Errorf("%s: example %q: %v", cmd.CommandPath(), strings.TrimSpace(line), err)
				}
			}
		}
	})
	if count < 150 {
		t.Errorf("only %d examples were found", count)
	}
}

// The test itself refuses what is wrong.
func TestWrongExamples(t *testing.T) {
	for _, line := range []string{
		"vsphere-sandbox scenario show vm-power-off", "vsphere-sandbox scenario run nothing-like-it", "vsphere-sandbox stauts",
		"vsphere-sandbox status --nmae x", "vsphere-sandbox fault inject vm.fly x", "vsphere-sandbox tutorial start 99", "vsphere-sandbox up nowhere",
		"vsphere-sandbox smoke --only lifecycle/nothing", "vsphere-sandbox vm power-off", "vsphere-sandbox status -o junit",
		"vsphere-sandbox topology graph nowhere", "vsphere-sandbox vm power-off worker-1", "vsphere-sandbox vm move worker-west-1 --to esx-2",
		"vsphere-sandbox explain node nobody", "vsphere-sandbox govc vm.info worker-1", "vsphere-sandbox logs node/worker-1",
		"vsphere-sandbox wait --for=node/worker-1=NotReady", "vsphere-sandbox fault inject vm.power-off worker-1", "vsphere-sandbox vcenter down nowhere",
		`x "$(vsphere-sandbox volume path)"`,
	} {
		for _, args := range invocations(line) {
			if try(t, args) == nil {
				t.Errorf("%s: nothing is wrong with it", line)
			}
		}
	}
}

// try has a fresh tree take arguments, without doing what they say.
func try(t *testing.T, args []string) error {
	t.Helper()
	e, fresh := tree(t)
	var names error
	ran := false
	var still func(*cobra.Command)
	still = func(cmd *cobra.Command) {
		if cmd.Runnable() && cmd.Name() != "help" {
			group := cmd.HasSubCommands() && cmd != fresh
			cmd.Run, cmd.PreRun, cmd.PreRunE, cmd.PersistentPreRun, cmd.PersistentPreRunE = nil, nil, nil, nil, nil
			cmd.RunE = func(cmd *cobra.Command, args []string) error {
				ran = true
				if group && len(args) > 0 {
					return errors.New("no such command")
				}
				names = errors.Join(known(cmd, args), booted(cmd, args))
				return nil
			}
		}
		for _, c := range cmd.Commands() {
			still(c)
		}
	}
	still(fresh)
	if exit := root.Execute(context.WithoutCancel(t.Context()), fresh, args, e.Streams); exit != 0 {
		return fmt.Errorf("exit status %d: %s", exit, strings.TrimSpace(e.Err.String()))
	}
	if !ran && args[0] != "help" {
		return errors.New("it runs nothing")
	}
	return names
}

// known reports a name of a built-in that does not exist. A name with a dot, a slash or a variable is a file of the user.
func known(cmd *cobra.Command, args []string) error {
	path := strings.TrimPrefix(cmd.CommandPath(), "vsphere-sandbox ")
	switch path {
	case "up", "topology graph", "topology render", "topology validate", "topology apply":
		for _, name := range args {
			if !file(name) && !slices.Contains(scenarios.Names(), name) {
				return fmt.Errorf("there is no topology %q", name)
			}
		}
	case "scenario run", "scenario show", "scenario validate", "scenario list":
		for _, name := range args {
			if err := listed(name); err != nil {
				return err
			}
		}
	case "fault inject", "fault describe":
		if !slices.ContainsFunc(catalogue.Kinds(), func(k *fault.Kind) bool { return k.Name == args[0] }) {
			return fmt.Errorf("fault %q not found", args[0])
		}
	case "tutorial start", "tutorial stop", "tutorial env":
		pages, err := tutorial.Pages(tutorials.FS(), "tutorials")
		for _, name := range args {
			if !slices.ContainsFunc(pages, func(p *tutorial.Page) bool {
				number, bare, _ := strings.Cut(p.Name, "-")
				return name == p.Name || name == bare || name == strings.TrimPrefix(number, "0")
			}) {
				err = errors.Join(err, fmt.Errorf("tutorial %q not found", name))
			}
		}
		return err
	}
	if f := cmd.Flags().Lookup("only"); f == nil || !f.Changed {
		return nil
	}
	names, err := cmd.Flags().GetStringSlice("only")
	for _, name := range names {
		if strings.Contains(name, "/") { // a scenario among the checks of a smoke test
			err = errors.Join(err, listed(name))
		}
	}
	return err
}

func file(name string) bool { return strings.ContainsAny(name, ".*$") || name == "-" }

// listed looks for a scenario, or for a theme.
func listed(name string) error {
	if file(name) || slices.Contains(scenarios.Themes(), name) {
		return nil
	}
	_, err := scenarios.Find(name)
	return err
}

// invocations are the arguments of each call of the program in a line of a shell.
func invocations(line string) [][]string {
	var all [][]string
	for rest := line; ; {
		_, after, found := strings.Cut(rest, "vsphere-sandbox ")
		if !found {
			return all
		}
		args, end := words(after)
		all = append(all, args)
		rest = after[end:]
	}
}

// words splits as a shell does, up to where the command ends.
func words(text string) (args []string, end int) {
	var word strings.Builder
	inWord, quote := false, byte(0)
	flush := func() {
		if inWord {
			args = append(args, word.String())
		}
		word.Reset()
		inWord = false
	}
	for i := 0; i < len(text); i++ {
		switch c := text[i]; {
		case quote != 0 && c == quote:
			quote = 0
		case quote != 0:
			word.WriteByte(c)
		case c == '\'' || c == '"' && i+1 < len(text) && strings.IndexByte(text[i+1:], '"') >= 0:
			quote, inWord = c, true
		case strings.IndexByte("|<>&;)#\"", c) >= 0 && (c != '#' || !inWord):
			flush()
			return args, i
		case c == ' ' || c == '\t':
			flush()
		default:
			word.WriteByte(c)
			inWord = true
		}
	}
	flush()
	return args, len(text)
}
