package migrate

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/vsphere-sandbox/vsphere-sandbox/internal/cli/command"
	"github.com/vsphere-sandbox/vsphere-sandbox/internal/cli/output"
	"github.com/vsphere-sandbox/vsphere-sandbox/internal/cli/report"
	"github.com/vsphere-sandbox/vsphere-sandbox/internal/input"
	"github.com/vsphere-sandbox/vsphere-sandbox/internal/iostreams"
	migration "github.com/vsphere-sandbox/vsphere-sandbox/internal/migrate"
	"github.com/vsphere-sandbox/vsphere-sandbox/internal/migrate/folder"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/provider/config"
)

type configOptions struct {
	streams *iostreams.Streams

	old       string
	out       string
	manifests []string
	urls      []string
	clusterID string
	force     bool
	format    string
}

// NewCmdConfig returns the command; runF, when not nil, runs in its place.
func NewCmdConfig(d *command.Deps, runF func(*configOptions) error) *cobra.Command {
	o := &configOptions{streams: d.Streams}
	cmd := &cobra.Command{
		Use:   "config FILE",
		Short: "Convert an old vsphere.conf and report on every line",
		Long: `Convert a vsphere.conf of the in-tree provider, or an INI file of
cloud-provider-vsphere, to the current files:

  vsphere.conf                        in YAML, for the cloud controller manager
  configmap.yaml                      the ConfigMap that holds it
  secret-vsphere-cloud-secret*.yaml   the credentials, a Secret for each vCenter
  secret-vsphere-config-secret.yaml   the csi-vsphere.conf of the CSI driver
  storageclasses.yaml                 StorageClasses of the CSI driver
  report.txt                          what happened to every line, and why

FILE is the old file; "-" reads standard input. No cluster, vCenter or sandbox
is contacted.

--out        writes the files to a folder, all or none of them; only their owner
             can read those with credentials. Without it, the manifests are
             printed with placeholders for credentials, and the report goes to
             standard error.
--manifests  reads manifests, as kubectl get -o yaml writes them: StorageClasses
             of kubernetes.io/vsphere-volume, which are converted, and the
             Secrets that FILE names, whose credentials csi-vsphere.conf needs.
--datastore-url
             gives the URL of a datastore that FILE or a StorageClass names. New
             StorageClasses refer to datastores by URL.
--force      drops unknown sections and keys, which are errors otherwise, and
             lists them in the report. It also overwrites files in --out.

Exit status:
  0    the file was converted
  2    the file cannot be converted`,
		Example: `  vsphere-sandbox migrate config vsphere.conf
  vsphere-sandbox migrate config vsphere.conf --out new
  vsphere-sandbox migrate config vsphere.conf --out new --manifests classes.yaml --datastore-url vsanDatastore=ds:///vmfs/volumes/vsan:52d1/
  vsphere-sandbox migrate config - -o json < vsphere.conf`,
		Args: command.ExactlyOne("FILE"),
		ValidArgsFunction: func(_ *cobra.Command, args []string, _ string) ([]string, cobra.ShellCompDirective) {
			if len(args) > 0 {
				return nil, cobra.ShellCompDirectiveNoFileComp
			}
			return nil, cobra.ShellCompDirectiveDefault
		},
		RunE: func(_ *cobra.Command, args []string) error {
			o.old = args[0]
			if runF != nil {
				return runF(o)
			}
			return convert(o)
		},
	}
	f := cmd.Flags()
	f.StringVar(&o.out, "out", "", "`FOLDER` to write the files to")
	f.StringArrayVar(&o.manifests, "manifests", nil, "`FILE` with StorageClasses and Secrets; repeatable")
	f.StringArrayVar(&o.urls, "datastore-url", nil, "URL of a datastore, as `NAME=URL`; repeatable")
	f.StringVar(&o.clusterID, "cluster-id", "", "`ID` of this cluster for the CSI driver")
	f.BoolVar(&o.force, "force", false, "drop unknown sections and keys; overwrite files in --out")
	_ = cmd.MarkFlagDirname("out") // its only error is an unknown flag
	output.BindFormat(cmd, &o.format, output.JSON, output.YAML)
	return cmd
}

func convert(o *configOptions) error {
	in, err := o.read()
	if err != nil {
		return err
	}
	m, err := migration.Convert(in.old, migration.Options{
		Manifests: in.manifests, ClusterID: o.clusterID, DatastoreURLs: in.urls, Force: o.force,
	})
	if err != nil {
		return refused(in.old.Name, o.old, err)
	}
	if o.out != "" {
		if err := o.write(m); err != nil {
			return err
		}
	}
	return o.print(m)
}

// write puts the files into the folder.
func (o *configOptions) write(m *migration.Migration) error {
	for _, name := range append([]string{o.old}, o.manifests...) {
		if file := sameAs(o.out, name, m.Files); file != "" {
			return report.UsageError("name another folder", "%s would be replaced by the new %s", name, file)
		}
	}
	err := folder.Write(o.out, m.Files, o.force)
	if occupied, ok := errors.AsType[*folder.Occupied](err); ok {
		return &report.Error{
			Code: "folder-not-empty", Message: occupied.Error(), Exit: report.Usage,
			Try: "name a folder that is not there yet\n--force, which replaces files of the same names: " + strings.Join(names(m.Files), ", "),
		}
	}
	if err != nil {
		return &report.Error{
			Code: "folder-unwritable", Message: err.Error(), Exit: report.Prerequisite, Try: "--out with a folder whose parent exists and is writable",
		}
	}
	return nil
}

// meaning is what a vsphere.conf means, old or new. An old one is read as it is when it is converted, so that what can be
// converted can be looked at too; force goes past what is not known of it.
func meaning(src migration.Source, force bool) (*config.Config, error) {
	if !config.LooksLikeINI(bytes.TrimPrefix(src.Data, []byte("\uFEFF"))) {
		return config.Load(src.Name, src.Data)
	}
	return migration.Read(src, force)
}

// tryMeaning is what to do about a file that cannot be read.
func tryMeaning(name string, err error) string {
	if name == standardInput {
		name = "-"
	}
	try := "vsphere-sandbox migrate config " + name
	if hasUnknown(err) {
		try += "\n--force, which goes past what is not known"
	}
	return try
}

// converted is a migration for programs.
type converted struct {
	migration.Report
	// Folder is where the files have been written to.
	Folder string `json:"folder,omitempty"`
	Files  []file `json:"files"`
}

type file struct {
	Name   string `json:"name"`
	Secret bool   `json:"secret,omitempty"`
	// Text is the content, with a note in place of what is secret; only when no folder has it.
	Text string `json:"text,omitempty"`
}

func (o *configOptions) print(m *migration.Migration) error {
	if o.format != output.Text {
		v := converted{Report: m.Report, Folder: o.out}
		for _, f := range m.Files {
			entry := file{Name: f.Name, Secret: f.Secret}
			if o.out == "" && f.Name != "report.txt" { // the report is here already
				entry.Text = string(f.Masked())
			}
			v.Files = append(v.Files, entry)
		}
		return output.Object(o.streams.Out, o.format, "ConfigMigration", v)
	}
	if o.out != "" {
		if _, err := io.WriteString(o.streams.Out, m.Report.Text()); err != nil {
			return err
		}
		fmt.Fprintf(o.streams.Err, "%s: %s\n", o.out, plural(len(m.Files), "file", "files"))
		return nil
	}
	if _, err := io.WriteString(o.streams.Err, m.Report.Text()); err != nil {
		return err
	}
	var docs [][]byte
	for _, f := range m.Files {
		if f.Manifest {
			docs = append(docs, f.Masked())
		}
	}
	_, err := o.streams.Out.Write(bytes.Join(docs, []byte("---\n")))
	return err
}

func plural(n int, one, many string) string {
	if n == 1 {
		return "1 " + one
	}
	return fmt.Sprintf("%d %s", n, many)
}

// inputs is what the flags name.
type inputs struct {
	old       migration.Source
	manifests []migration.Source
	urls      map[string]string
}

func (o *configOptions) read() (in inputs, err error) {
	if in.old, err = o.source(o.old); err != nil {
		return in, err
	}
	seen := map[string]bool{o.old: true}
	for _, name := range o.manifests {
		if seen[name] {
			return in, report.UsageError("--manifests "+name+", once", "--manifests: %s is named twice", name)
		}
		seen[name] = true
		s, err := o.source(name)
		if err != nil {
			return in, err
		}
		in.manifests = append(in.manifests, s)
	}
	in.urls = map[string]string{}
	for _, text := range o.urls {
		name, url, ok := strings.Cut(text, "=")
		switch {
		case !ok || name == "" || url == "":
			return in, report.UsageError("--datastore-url vsanDatastore=ds:///vmfs/volumes/vsan:52d1/", "--datastore-url: %q is not NAME=URL", text)
		case in.urls[name] != "":
			return in, report.UsageError("--datastore-url "+text+", once", "--datastore-url: %s is named twice", name)
		}
		in.urls[name] = url
	}
	return in, nil
}

func (o *configOptions) source(name string) (migration.Source, error) {
	return readSource(o.streams.In, name)
}

// standardInput is what "-" is called.
const standardInput = "standard input"

// readSource reads a file, or standard input, no further than it takes to see that it is too large.
func readSource(in io.Reader, name string) (migration.Source, error) {
	s := migration.Source{Name: name}
	var err error
	if name == "-" {
		s.Name = standardInput
		s.Data, err = io.ReadAll(io.LimitReader(in, migration.MaxSize+1))
	} else {
		s.Data, err = input.Head(name, migration.MaxSize+1)
	}
	if err != nil {
		return s, unreadable(s.Name, err)
	}
	return s, nil
}

func unreadable(name string, err error) error {
	return &report.Error{Code: "cloud-config-unreadable", Message: name + ": " + input.Plain(err).Error(), Exit: report.Usage, Try: "name a vsphere.conf, or - for standard input"}
}

// sameAs is the new file that an input is; empty when it is none of them.
func sameAs(dir, input string, files []migration.File) string {
	was, err := os.Stat(input)
	if err != nil {
		return "" // standard input, or gone by now
	}
	for _, f := range files {
		if is, err := os.Stat(filepath.Join(dir, f.Name)); err == nil && os.SameFile(was, is) {
			return f.Name
		}
	}
	return ""
}

func names(files []migration.File) []string {
	all := make([]string, len(files))
	for i, f := range files {
		all[i] = f.Name
	}
	return all
}

// refused returns the error for a file that cannot be converted; typed is its name on the command line.
func refused(name, typed string, err error) error {
	if r, ok := errors.AsType[*migration.Refusal](err); ok {
		e := &report.Error{Code: r.Code, Message: r.Message + listed(r.Problems), Try: r.Try, Exit: report.Usage}
		if r.Code == "already-migrated" {
			e.Try = "vsphere-sandbox config validate " + typed
		}
		return e
	}
	if bad, ok := errors.AsType[*config.Error](err); ok {
		e := &report.Error{
			Code: "cloud-config-invalid", Message: name + " cannot be converted, and nothing has been written" + listed(bad.Problems), Exit: report.Usage,
		}
		e.Try = "fix the file, and convert it again"
		if whole := !slices.ContainsFunc(bad.Problems, func(p config.Problem) bool { return p.Line > 0 || p.Hint != "" }); whole {
			e.Try = "name the vsphere.conf that --cloud-config names, as UTF-8 text"
		}
		if hasUnknown(err) {
			e.Try = "fix the file, or drop unknown keys with --force"
		}
		return e
	}
	return err
}

// hasUnknown is whether a file has something that --force goes past.
func hasUnknown(err error) bool {
	bad, ok := errors.AsType[*config.Error](err)
	return ok && slices.ContainsFunc(bad.Problems, func(p config.Problem) bool { return strings.HasPrefix(p.Message, "unknown ") })
}

// listed returns the first problems, one a line.
func listed(problems []config.Problem) string {
	const most = 20
	var b strings.Builder
	for _, p := range problems[:min(most, len(problems))] {
		b.WriteString("\n" + p.String())
	}
	if more := len(problems) - most; more > 0 {
		b.WriteString("\nand " + plural(more, "more problem", "more problems"))
	}
	return b.String()
}
