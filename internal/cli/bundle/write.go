package bundle

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"runtime"
	"strings"
	"time"

	"golang.org/x/sys/unix"

	"github.com/vsphere-sandbox/vsphere-sandbox/internal/atomicfile"
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
		m.Add(s)
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

// archive is a gzipped tar that appears, readable by its owner only, when it is complete. Everything in it is masked.
type archive struct {
	file *atomicfile.File
	gzip *gzip.Writer
	tar  *tar.Writer
	mask *mask.Mask
	made time.Time
}

// create begins the archive that will be at path, where nothing must be.
func create(path string, m *mask.Mask, made time.Time) (*archive, error) {
	if _, err := os.Lstat(path); err == nil {
		return nil, &fs.PathError{Op: "create", Path: path, Err: fs.ErrExist}
	}
	f, err := atomicfile.Create(path, 0o600)
	if err != nil {
		return nil, err
	}
	z := gzip.NewWriter(f)
	return &archive{file: f, gzip: z, tar: tar.NewWriter(z), mask: m, made: made}, nil
}

// put adds a file and returns its length. It masks the text again after formatting, so that no format hides a secret.
func (a *archive) put(name string, text []byte) (int, error) {
	text = a.mask.Bytes(text)
	h := &tar.Header{Name: a.mask.String(name), Mode: 0o600, Size: int64(len(text)), ModTime: a.made, Format: tar.FormatPAX}
	if err := a.tar.WriteHeader(h); err != nil {
		return 0, err
	}
	_, err := a.tar.Write(text)
	return len(text), err
}

// finish puts the index in and the archive in its place, unless a file appeared there.
func (a *archive) finish(x *Index) error {
	x.Masked = a.mask.Count()
	text, err := json.MarshalIndent(x, "", "  ")
	if err != nil {
		return err
	}
	if _, err := a.put(IndexName, append(text, '\n')); err != nil {
		return err
	}
	if err := errors.Join(a.tar.Close(), a.gzip.Close(), a.file.Sync()); err != nil {
		return err
	}
	return a.file.CommitNew()
}

// machine adds what is not about any sandbox.
func (r *report) machine(ctx context.Context) {
	r.Step("this machine")
	limited, cancel := context.WithTimeout(ctx, r.Patience)
	defer cancel()
	r.object("version.json", "this program and what is built into it", r.Version(limited), nil)
	r.object("doctor.json", "what doctor found", r.Findings, nil)
	r.object("machine.json", "kernel, system, limits", facts(), nil)
}

// machineFacts are what runs this program.
type machineFacts struct {
	Kernel string `json:"kernel,omitempty"`
	System string `json:"system,omitempty"`
	CPUs   int    `json:"cpus"`
	Root   bool   `json:"root"`
	// Limits are of a process; soft ones, -1 is none.
	Limits map[string]int64 `json:"limits"`
	// Files are short ones of the kernel's, by path.
	Files map[string]string `json:"files,omitempty"`
}

func facts() machineFacts {
	f := machineFacts{CPUs: runtime.NumCPU(), Root: os.Geteuid() == 0, Limits: map[string]int64{}, Files: map[string]string{}}
	var u unix.Utsname
	if unix.Uname(&u) == nil {
		f.Kernel = strings.Join([]string{text(u.Sysname[:]), text(u.Release[:]), text(u.Version[:]), text(u.Machine[:])}, " ")
	}
	for name, number := range map[string]int{"open-files": unix.RLIMIT_NOFILE, "processes": unix.RLIMIT_NPROC, "memory": unix.RLIMIT_AS} {
		var l unix.Rlimit
		if unix.Getrlimit(number, &l) == nil {
			f.Limits[name] = int64(l.Cur)
		}
	}
	release, _ := os.ReadFile("/etc/os-release") // other systems have none
	for line := range strings.Lines(string(release)) {
		if name, ok := strings.CutPrefix(strings.TrimSpace(line), "PRETTY_NAME="); ok {
			f.System = strings.Trim(name, `"`)
		}
	}
	for _, path := range []string{
		"/proc/meminfo", "/proc/loadavg", "/proc/sys/fs/inotify/max_user_instances", "/proc/sys/fs/inotify/max_user_watches", "/proc/sys/fs/file-max",
		"/proc/sys/net/ipv4/ip_local_port_range", "/proc/self/cgroup", "/sys/fs/cgroup/cgroup.controllers", "/sys/fs/cgroup/memory.max", "/sys/fs/cgroup/pids.max",
	} {
		if text, err := os.ReadFile(path); err == nil {
			f.Files[path] = string(bytes.TrimSpace(text[:min(len(text), 4096)]))
		}
	}
	return f
}

// text is a C string.
func text[T byte | int8](c []T) string {
	var b strings.Builder
	for _, x := range c {
		if x == 0 {
			break
		}
		b.WriteByte(byte(x))
	}
	return b.String()
}
