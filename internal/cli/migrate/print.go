package migrate

import (
	"bytes"
	"fmt"
	"io"

	"github.com/vsphere-sandbox/vsphere-sandbox/internal/cli/output"
	migration "github.com/vsphere-sandbox/vsphere-sandbox/internal/migrate"
)

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
