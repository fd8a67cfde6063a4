package doctor

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"al.essio.dev/pkg/shellescape"

	"github.com/vsphere-sandbox/vsphere-sandbox/internal/cli/bundle"
	"github.com/vsphere-sandbox/vsphere-sandbox/internal/cli/command"
	"github.com/vsphere-sandbox/vsphere-sandbox/internal/cli/output"
	"github.com/vsphere-sandbox/vsphere-sandbox/internal/cli/report"
	"github.com/vsphere-sandbox/vsphere-sandbox/internal/cli/vcenterconfig"
	"github.com/vsphere-sandbox/vsphere-sandbox/internal/cli/version"
	"github.com/vsphere-sandbox/vsphere-sandbox/internal/secret"
)

// defaultBundle is what errors propose.
const defaultBundle = "vsphere-sandbox-bug.tar.gz"

// written is the machine-readable form of a report.
type written struct {
	File  string `json:"file"`
	Bytes int64  `json:"bytes"`
	*bundle.Index
}

// checkBundle refuses names of files that were hardly meant.
func checkBundle(file string) error {
	try := "vsphere-sandbox doctor --bundle " + defaultBundle
	switch {
	case file == "-":
		return report.UsageError(try, "--bundle -: name a file: check the archive before you share it")
	case !strings.HasSuffix(file, ".tar.gz") && !strings.HasSuffix(file, ".tgz"):
		return report.UsageError(try, "--bundle %s: want a name that ends with .tar.gz", file)
	}
	return nil
}

// report writes a bug report. That something is found is no failure here: it is what the report is for.
func (o *options) report(ctx context.Context, found []finding) error {
	about, unlisted, err := o.about(ctx)
	if err != nil {
		return err
	}
	progress := vcenterconfig.NewProgress(o.streams.Err, o.streams.ErrTTY())
	defer progress.Close()
	index, err := bundle.Write(ctx, bundle.Options{
		File: o.bundle, Sandboxes: about, Unlisted: unlisted, Logs: o.sandboxes.Logs, Version: version.Info, Findings: found,
		Secrets: secret.Variables(o.getenv), Now: o.now(), Step: progress.Step,
	})
	progress.Close()
	if ctx.Err() != nil {
		return ctx.Err()
	}
	if err != nil {
		return bundleError(o.bundle, err)
	}
	info, err := os.Stat(o.bundle)
	if err != nil {
		return err
	}
	done := written{o.bundle, info.Size(), index}
	if o.flags.Format == output.JSON || o.flags.Format == output.YAML {
		return output.Object(o.streams.Out, o.flags.Format, "BugReport", done)
	}
	return o.sayBundle(done, unlisted)
}

// about returns the sandbox that was named, or all. That none can be listed is no reason not to write a report: it may be
// what the report is about.
func (o *options) about(ctx context.Context) (about []command.Sandbox, unlisted, err error) {
	all, unlisted := o.sandboxes.List(ctx)
	if _, asked := o.name(); !asked || unlisted != nil {
		return all, unlisted, nil
	}
	s, err := o.find(ctx)
	return []command.Sandbox{s}, nil, err
}

func (o *options) sayBundle(w written, unlisted error) error {
	var b strings.Builder
	fmt.Fprintf(&b, "%s: %s, %d files, readable by you alone\n", w.File, output.Bytes(w.Bytes), len(w.Files)+1)
	fmt.Fprintln(&b, "  this machine: versions, kernel, limits, findings of doctor")
	for _, s := range w.Sandboxes {
		logs := 0
		for _, f := range w.Files {
			if strings.HasPrefix(f.Path, "sandboxes/"+s.Name+"/logs/") {
				logs++
			}
		}
		fmt.Fprintf(&b, "  sandbox %s (%s): %s%d logs\n", s.Name, s.State, parts(w.Index, s.Name), logs)
	}
	switch {
	case unlisted != nil:
		fmt.Fprintln(&b, "  no sandbox:", unlisted)
	case len(w.Sandboxes) == 0:
		fmt.Fprintln(&b, "  no sandbox exists")
	}
	switch n := len(w.Missing); {
	case n == 1:
		fmt.Fprintf(&b, "  a part could not be had; %s in it says which, and why\n", bundle.IndexName)
	case n > 1:
		fmt.Fprintf(&b, "  %d parts could not be had; %s in it says which, and why\n", n, bundle.IndexName)
	}
	fmt.Fprintf(&b, "\nPasswords, tokens, private keys and kubeconfig credentials are masked, in %d places; names, addresses and\npaths are not. Read it before you give it away:\n\n  tar -xzOf %s | less\n", w.Masked, shellescape.Quote(w.File))
	_, err := fmt.Fprint(o.streams.Out, b.String())
	return err
}

// parts names what there is of a sandbox, each with a comma.
func parts(x *bundle.Index, name string) string {
	var b strings.Builder
	for _, p := range []struct{ path, what string }{
		{"status.json", "status"},
		{"topology/", "topology"},
		{"calls.json", "calls"},
		{"kubernetes/", "Kubernetes objects"},
		{"events.jsonl", "events"},
		{"ccm/vsphere.conf", "configuration"},
	} {
		if slices.ContainsFunc(x.Files, func(f bundle.Entry) bool { return strings.HasPrefix(f.Path, "sandboxes/"+name+"/"+p.path) }) {
			b.WriteString(p.what + ", ")
		}
	}
	return b.String()
}

func bundleError(file string, err error) error {
	e := &report.Error{Code: "bundle-not-written", Message: "bug report " + file, Err: err, Try: "--bundle /tmp/" + defaultBundle}
	switch {
	case errors.Is(err, fs.ErrExist):
		e.Code, e.Err, e.Exit = "exists", nil, report.Usage
		e.Message = "--bundle " + file + ": there is such a file already, and nothing is overwritten"
		e.Try = "another name, or rm " + shellescape.Quote(file)
	case errors.Is(err, fs.ErrNotExist):
		e.Err, e.Exit, e.Message, e.Try = nil, report.Usage, fmt.Sprintf("--bundle %s: there is no folder %s", file, filepath.Dir(file)), "mkdir -p "+shellescape.Quote(filepath.Dir(file))
	}
	return e
}
