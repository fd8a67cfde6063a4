package migrate

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"os"

	"github.com/vsphere-sandbox/vsphere-sandbox/internal/atomicfile"
	"github.com/vsphere-sandbox/vsphere-sandbox/internal/cli/report"
	"github.com/vsphere-sandbox/vsphere-sandbox/internal/migrate/steps"
)

// vacant checks that the file of --out does not exist, or may be replaced.
func (o *planOptions) vacant() error {
	if o.out == "" {
		return nil
	}
	is, err := os.Stat(o.out)
	if err != nil {
		return nil // whether it can be made shows when it is
	}
	if was, err := os.Stat(o.old); err == nil && os.SameFile(was, is) {
		return report.UsageError("--out with another file", "%s would be replaced by its own plan", o.old)
	}
	if !o.force {
		return o.exists()
	}
	return nil
}

func (o *planOptions) exists() error {
	return &report.Error{Code: "file-exists", Message: o.out + " already exists", Try: "name another file\n--force   # to overwrite it", Exit: report.Usage}
}

// write writes the plan to standard output or to the file, which it writes completely or not at all.
func (o *planOptions) write(p *steps.Plan) error {
	if o.out == "" {
		return o.print(o.streams.Out, p)
	}
	var text bytes.Buffer
	if err := o.print(&text, p); err != nil {
		return err
	}
	err := o.put(text.Bytes())
	switch {
	case errors.Is(err, fs.ErrExist) && !o.force: // another process was faster
		return o.exists()
	case err != nil:
		return &report.Error{
			Code: "file-unwritable", Message: err.Error(), Exit: report.Prerequisite, Try: "--out with a file in an existing folder that you can write to",
		}
	}
	fmt.Fprintf(o.streams.Err, "%s: %d steps\n", o.out, len(p.Steps))
	return nil
}

// put writes the file. It replaces an existing one atomically, and keeps its permissions.
func (o *planOptions) put(text []byte) error {
	f, err := os.OpenFile(o.out, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o644)
	if errors.Is(err, fs.ErrExist) && o.force {
		return o.replace(text)
	}
	if err != nil {
		return err
	}
	_, err = f.Write(text)
	if err = errors.Join(err, f.Close()); err != nil {
		return errors.Join(err, os.Remove(o.out))
	}
	return nil
}

func (o *planOptions) replace(text []byte) error {
	is, err := os.Stat(o.out)
	if err != nil {
		return err
	}
	f, err := atomicfile.Create(o.out, 0o600)
	if err != nil {
		return err
	}
	defer f.Discard()
	_, err = f.Write(text)
	if err = errors.Join(err, f.Chmod(is.Mode().Perm())); err != nil {
		return err
	}
	return f.Commit()
}
