package config

import (
	"io"
	"strings"

	"al.essio.dev/pkg/shellescape"

	"github.com/vsphere-sandbox/vsphere-sandbox/internal/cli/command"
	"github.com/vsphere-sandbox/vsphere-sandbox/internal/cli/report"
	"github.com/vsphere-sandbox/vsphere-sandbox/internal/input"
	"github.com/vsphere-sandbox/vsphere-sandbox/internal/iostreams"
	provider "github.com/vsphere-sandbox/vsphere-sandbox/pkg/provider/config"
)

// check reads a file, "-" being standard input, and tells what there is to say about it. The error is one of reading.
func check(streams *iostreams.Streams, file string) (*provider.Config, []provider.Problem, error) {
	// One byte more than there may be has Check say that it is too long.
	name, read := file, func() ([]byte, error) { return input.Head(file, provider.MaxSize+1) }
	if file == "-" {
		name, read = "standard input", func() ([]byte, error) { return io.ReadAll(io.LimitReader(streams.In, provider.MaxSize+1)) }
	}
	data, err := read()
	if err != nil {
		return nil, nil, &report.Error{Code: "cloud-config-unreadable", Message: "cloud config: " + err.Error(), Exit: report.Usage, Try: "name a vsphere.conf, or - for standard input"}
	}
	cfg, problems := provider.Check(name, data)
	return cfg, problems, nil
}

// invalid is the error of a configuration that cannot be used.
func invalid(file string, problems []provider.Problem) error {
	try := "mend what is named, then " + command.Program + " config validate " + shellescape.Quote(file)
	if file == "-" {
		file, try = "from standard input", "mend what is named, then "+command.Program+" config validate -"
	}
	message := "cloud config " + file + " cannot be used"
	var lines []string
	for _, p := range problems {
		if !p.Warning {
			lines = append(lines, p.String())
		}
	}
	return &report.Error{Code: "cloud-config-invalid", Message: message + "\n" + strings.Join(lines, "\n"), Exit: report.Usage, Try: try}
}
