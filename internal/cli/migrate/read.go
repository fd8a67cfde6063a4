package migrate

import (
	"errors"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/vsphere-sandbox/vsphere-sandbox/internal/cli/report"
	"github.com/vsphere-sandbox/vsphere-sandbox/internal/input"
	migration "github.com/vsphere-sandbox/vsphere-sandbox/internal/migrate"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/provider/config"
)

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
