package up

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"slices"
	"strings"

	"github.com/vsphere-sandbox/vsphere-sandbox/internal/cli/report"
	"github.com/vsphere-sandbox/vsphere-sandbox/internal/nearest"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/topology"
	"github.com/vsphere-sandbox/vsphere-sandbox/scenarios"
)

// load reads a topology: the scenario of that name, or else the file at that path.
func load(source string) (*topology.Topology, error) {
	if slices.Contains(scenarios.Names(), source) {
		return scenarios.Load(source)
	}
	t, err := topology.LoadFile(source)
	var bad topology.Errors
	switch {
	case err == nil:
		return t, nil
	case errors.As(err, &bad):
		return nil, &report.Error{
			Code: "topology-invalid", Message: fmt.Sprintf("topology %s cannot be used\n%v", source, err),
			Try: "vsphere-sandbox up zones-us-eu --dry-run -o yaml   # a topology that works", Exit: report.Usage,
		}
	case errors.Is(err, fs.ErrNotExist) && !strings.ContainsAny(source, "./"+string(os.PathSeparator)):
		try := "one of: " + strings.Join(scenarios.Names(), ", ") + "; or the path of a topology file"
		if near := nearest.Of(source, scenarios.Names()); near != "" {
			try = "vsphere-sandbox up " + near
		}
		return nil, report.UsageError(try, "scenario %q: there is none of that name, and no such file", source)
	}
	return nil, &report.Error{Code: "topology-unreadable", Message: err.Error(), Exit: report.Usage}
}
