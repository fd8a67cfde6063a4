package bundle

import (
	"context"
	"encoding/json"
	"fmt"
	"time"

	"github.com/vsphere-sandbox/vsphere-sandbox/internal/cli/command"
	"github.com/vsphere-sandbox/vsphere-sandbox/internal/cli/output"
	"github.com/vsphere-sandbox/vsphere-sandbox/internal/secret/mask"
)

// Options are what a bug report is about. All fields without a default are required.
type Options struct {
	// File is where it goes; there must be none yet.
	File      string
	Sandboxes []command.Sandbox
	// Unlisted is why the sandboxes could not be listed, if so.
	Unlisted error
	// Logs returns the log files of a sandbox by component.
	Logs func(name string) (map[string]string, error)
	// Version and Findings go into it as they are.
	Version  func(context.Context) any
	Findings any
	// Secrets are known besides those that are found.
	Secrets []string
	Now     time.Time
	// Step is called with what is being done. Optional.
	Step func(string)
	// Patience bounds each question. Default: 10s.
	Patience time.Duration
	// LogBytes is how much of the end of each log goes in. Default: 1 MiB; of events and recordings, eight times that.
	LogBytes int64
	// AllBytes is where whole logs are left out. Default: 64 MiB, before it is compressed.
	AllBytes int64
}

// Write writes the report and returns its index. It fails when the file cannot be written, and when ctx ends; a part that
// cannot be had is in the index. Nothing is left of a report that was not finished.
func Write(ctx context.Context, o Options) (*Index, error) {
	if o.Patience <= 0 {
		o.Patience = 10 * time.Second
	}
	if o.LogBytes <= 0 {
		o.LogBytes = 1 << 20
	}
	if o.AllBytes <= 0 {
		o.AllBytes = 64 << 20
	}
	if o.Step == nil {
		o.Step = func(string) {}
	}
	m := &mask.Mask{}
	a, err := create(o.File, m, o.Now)
	if err != nil {
		return nil, err
	}
	defer a.file.Discard()
	r := &report{Options: o, archive: a, index: &Index{
		APIVersion: output.APIVersion, Kind: "BugReport", Made: o.Now.UTC(), Notice: notice, Sandboxes: []About{}, Files: []Entry{}, Missing: []Missing{},
	}}
	for _, s := range o.Secrets {
		m.Know(s)
	}
	// Every secret has to be known before the first text goes in.
	parts := make([]*sandbox, 0, len(o.Sandboxes))
	for _, s := range o.Sandboxes {
		o.Step(fmt.Sprintf("sandbox %q: its secrets, to be masked", s.Name))
		parts = append(parts, r.meet(ctx, s))
	}
	r.machine(ctx)
	if o.Unlisted != nil {
		r.lacks("sandboxes", "the sandboxes of this machine", o.Unlisted)
	}
	for _, p := range parts {
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		r.sandbox(ctx, p)
	}
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	if r.failed != nil {
		return nil, r.failed
	}
	return r.index, a.finish(r.index)
}

// report is one that is being written.
type report struct {
	Options
	archive *archive
	index   *Index
	bytes   int64
	failed  error // the first error of writing
}

// add puts text in; leftOut is how much came before it.
func (r *report) add(path, what string, text []byte, leftOut int64) {
	if r.failed != nil {
		return
	}
	n, err := r.archive.put(path, text)
	if r.failed = err; err == nil {
		r.bytes += int64(n)
		r.index.Files = append(r.index.Files, Entry{path, what, n, leftOut})
	}
}

// lacks says what could not be had.
func (r *report) lacks(path, what string, why error) {
	r.index.Missing = append(r.index.Missing, Missing{path, what, r.archive.mask.String(why.Error())})
}

// object puts an answer in as JSON.
func (r *report) object(path, what string, v any, err error) {
	var text []byte
	if err == nil {
		text, err = json.MarshalIndent(v, "", "  ")
	}
	if err != nil {
		r.lacks(path, what, err)
		return
	}
	r.add(path, what, append(text, '\n'), 0)
}

// IndexName is the last file of an archive, its table of contents.
const IndexName = "index.json"

const notice = "Known passwords, tokens, private keys, kubeconfig credentials and everything that looks like one are masked. Names of machines, " +
	"users, folders and files, addresses, certificates and thumbprints are not. Read it before you give it away."

// Index lists what is in an archive, and what is missing.
type Index struct {
	APIVersion string    `json:"apiVersion"`
	Kind       string    `json:"kind"`
	Made       time.Time `json:"made"`
	Notice     string    `json:"notice"`
	// Sandboxes are those it is about.
	Sandboxes []About `json:"sandboxes"`
	Files     []Entry `json:"files"`
	// Missing is what could not be had.
	Missing []Missing `json:"missing"`
	// Masked counts the places where a secret stood.
	Masked int `json:"masked"`
}

// About is a sandbox in an archive.
type About struct {
	Name string `json:"name"`
	// State is running or crashed, as its directory says.
	State string `json:"state"`
}

// Entry is a file in an archive.
type Entry struct {
	Path string `json:"path"`
	// What says it in words.
	What string `json:"what"`
	// Bytes is its length there; LeftOut is how many bytes of the original, its oldest, are not.
	Bytes   int   `json:"bytes"`
	LeftOut int64 `json:"leftOut,omitempty"`
}

// Missing is a part that could not be had.
type Missing struct {
	Path string `json:"path"`
	What string `json:"what"`
	Why  string `json:"why"`
}
