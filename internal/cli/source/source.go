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

	"github.com/vsphere-sandbox/vsphere-sandbox/internal/cli/report"
	"github.com/vsphere-sandbox/vsphere-sandbox/internal/input"
	"github.com/vsphere-sandbox/vsphere-sandbox/internal/nearest"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/topology"
	"github.com/vsphere-sandbox/vsphere-sandbox/scenarios"
)

// Load reads a topology: the scenario of that name, or else the file at that path. Command is what was typed before the
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
			Try: "vsphere-sandbox topology render zones-us-eu   # a topology that works", Exit: report.Usage,
		}, bad}
	case errors.Is(err, fs.ErrNotExist) && !strings.ContainsAny(source, "./"+string(os.PathSeparator)):
		try := "one of: " + strings.Join(scenarios.Names(), ", ") + "; or the path of a topology file"
		if near := nearest.Of(source, scenarios.Names()); near != "" {
			try = "vsphere-sandbox " + command + " " + near
		}
		return nil, report.UsageError(try, "scenario %q: there is none of that name, and no such file", source)
	}
	return nil, &report.Error{Code: "topology-unreadable", Message: err.Error(), Exit: report.Usage, Try: "name a topology file, or a scenario: vsphere-sandbox topology render zones-us-eu > mine.yaml makes one"}
}

func read(source string, settings Settings) (*topology.Topology, error) {
	if slices.Contains(scenarios.Names(), source) {
		return scenarios.Load(source, settings...)
	}
	if strings.HasSuffix(source, ".gz") {
		return unzip(source, settings)
	}
	return topology.LoadFile(source, settings...)
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

// invalid is told as its first part, which has the text of all the second has one by one.
type invalid struct {
	told     *report.Error
	problems topology.Errors
}

func (e *invalid) Error() string { return e.told.Error() }

func (e *invalid) Unwrap() []error { return []error{e.told, e.problems} }

// Or is the first argument, or the scenario that stands in for one.
func Or(args []string) string {
	if len(args) > 0 {
		return args[0]
	}
	return scenarios.Default
}

// Names completes scenarios and files, for a command that takes at most so many of them (0: any number).
func Names(most int) func(*cobra.Command, []string, string) ([]string, cobra.ShellCompDirective) {
	return func(_ *cobra.Command, args []string, _ string) ([]string, cobra.ShellCompDirective) {
		if most > 0 && len(args) >= most {
			return nil, cobra.ShellCompDirectiveNoFileComp
		}
		return scenarios.Names(), cobra.ShellCompDirectiveDefault
	}
}
