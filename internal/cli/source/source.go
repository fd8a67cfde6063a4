package source

import (
	"bytes"
	"compress/gzip"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/vsphere-sandbox/vsphere-sandbox/internal/cli/output"
	"github.com/vsphere-sandbox/vsphere-sandbox/internal/cli/report"
	"github.com/vsphere-sandbox/vsphere-sandbox/internal/input"
	"github.com/vsphere-sandbox/vsphere-sandbox/internal/nearest"
	"github.com/vsphere-sandbox/vsphere-sandbox/internal/strict"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/topology"
	"github.com/vsphere-sandbox/vsphere-sandbox/scenarios"
)

// Load reads a topology: the built-in one of that name, or else the file at that path. Command is what was typed before the
// name, for advice: "up". Errors are of [report]; the reason of one about the topology itself is [topology.Errors].
func Load(command, source string, settings Settings) (*topology.Topology, error) {
	t, err := read(source, settings)
	var bad topology.Errors
	switch {
	case err == nil:
		return t, nil
	case errors.As(err, &bad):
		return nil, &invalid{&report.Error{
			Code: "topology-invalid", Message: fmt.Sprintf("topology %s cannot be used\n%v", source, err),
			Try: advice(command, source), Exit: report.Usage,
		}, bad}
	case errors.Is(err, fs.ErrNotExist) && isScenario(source) != "":
		return nil, report.UsageError(forScenario(command)+" "+source, "%q is %s, not a topology", source, isScenario(source))
	case errors.Is(err, fs.ErrNotExist) && !strings.ContainsAny(source, "./"+string(os.PathSeparator)):
		try := "vsphere-sandbox topology list   # " + strings.Join(scenarios.Names(), ", ") + "; or the path of a topology file"
		if near := nearest.Of(source, scenarios.Names()); near != "" {
			try = "vsphere-sandbox " + command + " " + near
		}
		return nil, report.UsageError(try, "topology %q: no built-in topology and no file has this name", source)
	}
	return nil, &report.Error{Code: "topology-unreadable", Message: err.Error(), Exit: report.Usage, Try: "vsphere-sandbox topology render zones-us-eu > mine.yaml   # writes a topology file to start from"}
}

// isScenario returns what a name is among the built-in scenarios, "" if it is none.
func isScenario(name string) string {
	switch _, err := scenarios.Find(name); {
	case err == nil:
		return "a scenario"
	case slices.Contains(scenarios.Themes(), name):
		return "a theme of scenarios"
	}
	return ""
}

// forScenario returns the command that does with a scenario what command does with a topology.
func forScenario(command string) string {
	switch command {
	case "topology validate":
		return "vsphere-sandbox scenario validate"
	case "topology render", "topology graph":
		return "vsphere-sandbox scenario show"
	}
	return "vsphere-sandbox scenario run"
}

// advice returns what to do about a file that is no good topology: the command that takes it, if it is another kind of file.
func advice(command, source string) string {
	const example = "vsphere-sandbox topology render zones-us-eu   # a topology that works"
	data, err := input.File(source, input.MaxFile)
	if err != nil {
		return example
	}
	switch use, _ := strict.Recognize(data); use {
	case strict.UseScenario:
		return forScenario(command) + " " + source
	case strict.UseCloudConfig:
		if command == "up" {
			return "vsphere-sandbox up --vcenter-config " + source
		}
		return "vsphere-sandbox config validate " + source
	case strict.UseKubernetes:
		return example + "\nvsphere-sandbox kubectl apply -f " + source
	}
	return example
}

func read(source string, settings Settings) (*topology.Topology, error) {
	if strings.HasSuffix(source, ".gz") {
		return unzip(source, settings)
	}
	return scenarios.LoadFrom(source, settings...)
}

// unzip reads a file that was compressed with gzip: a large topology on its way through a ConfigMap. It includes no others.
func unzip(path string, settings Settings) (*topology.Topology, error) {
	packed, err := input.File(path, input.MaxFile)
	if err != nil {
		return nil, fmt.Errorf("topology %s: %w", path, input.Plain(err))
	}
	z, err := gzip.NewReader(bytes.NewReader(packed))
	if err != nil {
		return nil, fmt.Errorf("topology %s: %w", path, err)
	}
	data, err := io.ReadAll(io.LimitReader(z, topology.MaxSize+1)) // whose reader says what is too large
	if err != nil {
		return nil, fmt.Errorf("topology %s: %w", path, err)
	}
	return topology.Load(strings.TrimSuffix(path, ".gz"), data, settings...)
}

// invalid prints its first part, which has the text of all problems; the second has them one by one.
type invalid struct {
	reported *report.Error
	problems topology.Errors
}

func (e *invalid) Error() string { return e.reported.Error() }

func (e *invalid) Unwrap() []error { return []error{e.reported, e.problems} }

// ArgOrDefault is the first argument, or the topology that stands in for one.
func ArgOrDefault(args []string) string {
	if len(args) > 0 {
		return args[0]
	}
	return scenarios.Default
}

// Names completes topologies and files, for a command that takes at most so many of them (0: any number).
func Names(most int) func(*cobra.Command, []string, string) ([]string, cobra.ShellCompDirective) {
	return func(_ *cobra.Command, args []string, _ string) ([]string, cobra.ShellCompDirective) {
		if most > 0 && len(args) >= most {
			return nil, cobra.ShellCompDirectiveNoFileComp
		}
		return scenarios.Names(), cobra.ShellCompDirectiveDefault
	}
}

// Settings are the values of --set, in the order of the command line.
type Settings []topology.Setting

// Bind adds --set to a command.
func (s *Settings) Bind(cmd *cobra.Command) {
	cmd.Flags().Var(s, "set", "set a parameter of the topology, `NAME=VALUE`; repeatable")
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

// Problem is something wrong in a topology or a scenario, or with getting at it: then there is only a message.
type Problem struct {
	File    string `json:"file,omitempty"`
	Line    int    `json:"line,omitempty"`
	Column  int    `json:"column,omitempty"`
	Path    string `json:"path,omitempty"`
	Message string `json:"message"`
	Hint    string `json:"hint,omitempty"`
}

// Problems returns the separate problems in an error of loading.
func Problems(err error) []Problem {
	var bad topology.Errors
	if !errors.As(err, &bad) {
		return []Problem{{Message: report.Of(err).Message}}
	}
	all := make([]Problem, len(bad))
	for i, one := range bad {
		all[i] = Problem(one)
	}
	return all
}

// JoinErrors is one error for those of several files, nil for none.
func JoinErrors(bad []error) error {
	if len(bad) < 2 {
		return errors.Join(bad...)
	}
	var messages []string
	for _, err := range bad {
		messages = append(messages, report.Of(err).Message)
	}
	first := report.Of(bad[0])
	return &report.Error{Code: first.Code, Message: strings.Join(messages, "\n"), Try: first.Try, Exit: report.Usage}
}

// Write writes a resolved topology out as YAML or JSON, which build the same again.
func Write(w io.Writer, format string, t *topology.Topology) error {
	if format == output.YAML {
		b, err := topology.Marshal(t)
		if err != nil {
			return err
		}
		_, err = w.Write(b)
		return err
	}
	var b bytes.Buffer
	if err := output.Encode(&b, format, t); err != nil { // it has its kind and version in it
		return err
	}
	// What looks like a parameter is none any more. In JSON, it can only be in a text.
	_, err := w.Write(bytes.ReplaceAll(b.Bytes(), []byte("${"), []byte("$${")))
	return err
}
