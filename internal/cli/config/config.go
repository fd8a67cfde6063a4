package config

import (
	"fmt"
	"io"
	"path/filepath"
	"slices"
	"strings"

	"al.essio.dev/pkg/shellescape"
	"github.com/spf13/cobra"

	"github.com/vsphere-sandbox/vsphere-sandbox/internal/cli/command"
	"github.com/vsphere-sandbox/vsphere-sandbox/internal/cli/complete"
	"github.com/vsphere-sandbox/vsphere-sandbox/internal/cli/output"
	"github.com/vsphere-sandbox/vsphere-sandbox/internal/cli/report"
	"github.com/vsphere-sandbox/vsphere-sandbox/internal/input"
	"github.com/vsphere-sandbox/vsphere-sandbox/internal/iostreams"
	"github.com/vsphere-sandbox/vsphere-sandbox/internal/printable"
	csi "github.com/vsphere-sandbox/vsphere-sandbox/pkg/csi/config"
	provider "github.com/vsphere-sandbox/vsphere-sandbox/pkg/provider/config"
)

// NewCmdConfig returns the group of commands.
func NewCmdConfig(d *command.Deps) *cobra.Command {
	return command.Group(&cobra.Command{
		Use:   "config",
		Short: "Validate and render the cloud provider's vsphere.conf",
		Long: `Check or print vsphere.conf, the configuration file of the vSphere cloud
provider: YAML or INI, for the upstream provider or for the in-tree one.

Environment variables that a cloud provider also reads are ignored.`,
		Example: `  vsphere-sandbox config validate vsphere.conf
  vsphere-sandbox config validate vsphere.conf --secret-dir /etc/cloud/secrets
  vsphere-sandbox config render vsphere.conf`,
	}, NewCmdValidate(d, nil), NewCmdRender(d, nil))
}

// oneFile accepts one argument.
func oneFile() cobra.PositionalArgs {
	return cobra.MatchAll(command.AtLeastOne("FILE"), command.AtMostOne)
}

// check reads a file, "-" for standard input, and returns its problems. The error is one of reading.
func check(streams *iostreams.Streams, file string) (*provider.Config, []provider.Problem, error) {
	name, data, err := read(streams, file)
	if err != nil {
		return nil, nil, err
	}
	cfg, problems := provider.Check(name, data)
	return cfg, problems, nil
}

// read returns a file's name for messages and its content.
func read(streams *iostreams.Streams, file string) (name string, data []byte, err error) {
	// One byte more than there may be has Check say that it is too long.
	if name = file; file == "-" {
		name = "standard input"
		data, err = io.ReadAll(io.LimitReader(streams.In, provider.MaxSize+1))
	} else {
		data, err = input.Head(file, provider.MaxSize+1)
	}
	if err != nil {
		err = &report.Error{Code: "cloud-config-unreadable", Message: "cloud config: " + err.Error(), Exit: report.Usage, Try: "name a vsphere.conf, or - for standard input"}
	}
	return name, data, err
}

// invalid is the error of a configuration that cannot be used.
func invalid(file string, problems []provider.Problem) error {
	try := "fix these errors, then " + command.Program + " config validate " + shellescape.Quote(file)
	if file == "-" {
		file, try = "from standard input", "fix these errors, then "+command.Program+" config validate -"
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

type renderOptions struct {
	streams *iostreams.Streams

	file string
}

// NewCmdRender returns the command; runF, when not nil, runs in its place.
func NewCmdRender(d *command.Deps, runF func(*renderOptions) error) *cobra.Command {
	o := &renderOptions{streams: d.Streams}
	return &cobra.Command{
		Use:   "render FILE",
		Short: "Print a vsphere.conf as YAML with all values",
		Long: `Print a vsphere.conf as the upstream provider's YAML. Each vCenter is listed
with all its values, including defaults and those of the global section. Values
without effect are left out, and passwords are masked. Values that may have been
mangled by quotes or comments cause a warning. "-" reads standard input.`,
		Example: `  vsphere-sandbox config render vsphere.conf
  vsphere-sandbox config render in-tree.ini`,
		Args:              oneFile(),
		ValidArgsFunction: complete.OneFile,
		RunE: func(_ *cobra.Command, args []string) error {
			o.file = args[0]
			if runF != nil {
				return runF(o)
			}
			return render(o)
		},
	}
}

func render(o *renderOptions) error {
	cfg, problems, err := check(o.streams, o.file)
	if err != nil {
		return err
	}
	if cfg == nil {
		return invalid(o.file, problems)
	}
	text, err := cfg.Masked().YAML()
	if err != nil {
		return err
	}
	warn(o.streams, slices.DeleteFunc(problems, func(p provider.Problem) bool { return !p.Suspect }))
	_, err = o.streams.Out.Write(text)
	return err
}

type validateOptions struct {
	streams *iostreams.Streams

	file      string
	secretDir string
	format    string
}

// NewCmdValidate returns the command; runF, when not nil, runs in its place.
func NewCmdValidate(d *command.Deps, runF func(*validateOptions) error) *cobra.Command {
	o := &validateOptions{streams: d.Streams}
	cmd := &cobra.Command{
		Use:   "validate FILE",
		Short: "Check a vsphere.conf or csi-vsphere.conf for errors",
		Long: `Report all errors in a vsphere.conf, each with its line, the key and, for a
misspelled key, the nearest known one. Values without effect are warnings, and
so are logins that quotes, backslashes or comments may have mangled. "-" reads
standard input.

A csi-vsphere.conf, the configuration file of the CSI driver, is checked too. A
file is one if its name begins with csi-, or if only the CSI driver can use it.

With --secret-dir, a directory with one file for each key of the Secret, missing
credentials of a vCenter are errors too.

With -o json or yaml, errors and warnings are printed as data.

Exit status:
  0    the file is valid
  2    the file has errors`,
		Example: `  vsphere-sandbox config validate vsphere.conf
  vsphere-sandbox config validate vsphere.conf --secret-dir ./secret -o json
  vsphere-sandbox config validate csi-vsphere.conf
  vsphere-sandbox config validate - < vsphere.conf`,
		Args:              oneFile(),
		ValidArgsFunction: complete.OneFile,
		RunE: func(_ *cobra.Command, args []string) error {
			o.file = args[0]
			if runF != nil {
				return runF(o)
			}
			return validate(o)
		},
	}
	cmd.Flags().StringVar(&o.secretDir, "secret-dir", "", "`DIRECTORY` with one file for each key of the Secret")
	// Cannot fail: the flag was added in the line above, and stays there.
	_ = cmd.MarkFlagDirname("secret-dir")
	output.BindFormat(cmd, &o.format, output.JSON, output.YAML)
	return cmd
}

// validation is what came of a file.
type validation struct {
	APIVersion string `json:"apiVersion"`
	Kind       string `json:"kind"`
	File       string `json:"file"`
	Valid      bool   `json:"valid"`
	// Format is that of a valid file, VCenters its vCenters.
	Format   provider.Format `json:"format,omitempty"`
	VCenters []vcenter       `json:"vcenters,omitempty"`
	Problems []problem       `json:"problems,omitempty"`
}

type vcenter struct {
	Tenant      string `json:"tenant"`
	Server      string `json:"server"`
	Port        int    `json:"port"`
	Credentials string `json:"credentials"`
}

type problem struct {
	Severity string `json:"severity"`
	File     string `json:"file"`
	Line     int    `json:"line,omitempty"`
	Column   int    `json:"column,omitempty"`
	Path     string `json:"path,omitempty"`
	Message  string `json:"message"`
	Hint     string `json:"hint,omitempty"`
}

func validate(o *validateOptions) error {
	name, data, err := read(o.streams, o.file)
	if err != nil {
		return err
	}
	var found validated
	if isCSI(name, data) {
		found, err = validateCSI(o, name, data)
	} else {
		found, err = validateCloud(o, name, data)
	}
	if err != nil {
		return err
	}
	problems := found.problems
	bad := slices.ContainsFunc(problems, func(p provider.Problem) bool { return !p.Warning })
	if o.format != output.Text {
		if err := output.Encode(o.streams.Out, o.format, describe(o.file, found, bad)); err != nil {
			return err
		}
		if bad {
			return report.Exit(report.Usage) // the problems were printed
		}
		return nil
	}
	warn(o.streams, problems)
	if bad {
		return invalid(o.file, problems)
	}
	fmt.Fprintf(o.streams.Out, "%s can be used: %s\n", o.file, found.summary)
	return nil
}

// validated is a checked file. format, vcenters and summary are empty if it cannot be used.
type validated struct {
	format   provider.Format
	vcenters []provider.VCenter
	summary  string
	problems []provider.Problem
}

func validateCloud(o *validateOptions, name string, data []byte) (validated, error) {
	cfg, problems := provider.Check(name, data)
	v := validated{problems: problems}
	if cfg != nil {
		v.format, v.vcenters, v.summary = cfg.Format, cfg.VCenters, summary(cfg)
	}
	if o.secretDir == "" {
		return v, nil
	}
	more, err := checkSecret(v.vcenters, o.secretDir)
	v.problems = append(v.problems, more...)
	return v, err
}

// isCSI reports whether a file is a csi-vsphere.conf. Keys that only the CSI driver reads do not make it one as long as the
// provider can use it: some people keep one file for both.
func isCSI(name string, data []byte) bool {
	if csi.FormatOf(name, data) != csi.CSI {
		return false
	}
	if strings.HasPrefix(filepath.Base(name), "csi-") {
		return true
	}
	cfg, _ := provider.Check(name, data)
	return cfg == nil
}

// formatCSI is the format of a csi-vsphere.conf.
const formatCSI provider.Format = "csi"

func validateCSI(o *validateOptions, name string, data []byte) (validated, error) {
	if o.secretDir != "" {
		return validated{}, &report.Error{
			Code: "usage", Message: "--secret-dir: a csi-vsphere.conf has its credentials in the file", Exit: report.Usage,
			Try: command.Program + " config validate " + shellescape.Quote(o.file),
		}
	}
	// The driver identifies a cluster without an id in the file by the UID of kube-system.
	cfg, problems := csi.Check(name, data, csi.ReadOptions{Format: csi.CSI, ClusterID: "kube-system"})
	v := validated{problems: problems}
	if cfg == nil {
		return v, nil
	}
	topology := "no topology"
	if len(cfg.Categories) > 0 {
		topology = "topology from tags of " + strings.Join(cfg.Categories, ", ")
	}
	v.format, v.vcenters = formatCSI, cfg.VCenters
	v.summary = fmt.Sprintf("CSI driver, %s, %s", countVCenters(cfg.VCenters), topology)
	return v, nil
}

// warn prints those of the problems that are warnings.
func warn(streams *iostreams.Streams, problems []provider.Problem) {
	for _, p := range problems {
		if p.Warning {
			fmt.Fprintf(streams.Err, "warning: %s\n", printable.Line(p.String()))
		}
	}
}

// checkSecret returns the problems of the Secret, and what is missing in it.
func checkSecret(vcenters []provider.VCenter, dir string) ([]provider.Problem, error) {
	secret, err := provider.ReadSecretsDirectory(dir)
	if err != nil {
		return nil, &report.Error{
			Code: "cloud-secret-unreadable", Message: err.Error(), Exit: report.Usage,
			Try: "--secret-dir FOLDER with a file for each key of the Secret, as it is mounted",
		}
	}
	problems := secret.Problems()
	for _, vc := range vcenters {
		if vc.User != "" {
			continue
		}
		if _, err := secret.For(vc.SecretKeys()...); err != nil {
			problems = append(problems, provider.Problem{File: dir, Message: fmt.Sprintf("vCenter %s: %v", vc.Tenant, err)})
		}
	}
	return problems, nil
}

func describe(file string, found validated, bad bool) validation {
	v := validation{APIVersion: output.APIVersion, Kind: "CloudConfigValidation", File: file, Valid: !bad, Format: found.format}
	for _, p := range found.problems {
		severity := "error"
		if p.Warning {
			severity = "warning"
		}
		v.Problems = append(v.Problems, problem{severity, p.File, p.Line, p.Column, p.Path, p.Message, p.Hint})
	}
	for _, vc := range found.vcenters {
		v.VCenters = append(v.VCenters, vcenter{vc.Tenant, vc.Server, vc.Port, credentials(vc)})
	}
	return v
}

// credentials says where a vCenter's come from.
func credentials(vc provider.VCenter) string {
	switch {
	case vc.Secret != provider.SecretRef{}:
		return "secret " + vc.Secret.Namespace + "/" + vc.Secret.Name
	case vc.SecretsDirectory != "":
		return "directory " + vc.SecretsDirectory
	}
	return "inline"
}

func countVCenters(all []provider.VCenter) string {
	if len(all) == 1 {
		return "1 vCenter"
	}
	return fmt.Sprintf("%d vCenters", len(all))
}

// summary says what a file holds, in one line.
func summary(cfg *provider.Config) string {
	vcenters := countVCenters(cfg.VCenters)
	form := map[provider.Format]string{provider.YAML: "YAML", provider.INI: "INI"}[cfg.Format]
	if cfg.Labels.Region == "" || cfg.Labels.Zone == "" {
		return form + ", " + vcenters + ", no zones"
	}
	return fmt.Sprintf("%s, %s, region from tags of %s, zone from %s", form, vcenters, cfg.Labels.Region, cfg.Labels.Zone)
}
