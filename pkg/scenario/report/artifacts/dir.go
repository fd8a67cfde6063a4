package artifacts

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"os"
	"path"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/vsphere-sandbox/vsphere-sandbox/internal/secret/mask"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/event"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/sandbox/api"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/scenario/report"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/scenario/report/document"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/scenario/report/junit"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/scenario/report/page"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/scenario/result"
)

// ErrNotOwned is the error for a directory with other files.
var ErrNotOwned = errors.New("is not empty, and holds no results of scenarios")

// Dir is the directory of one run. Make it with [Create]; end it with [Dir.Finish], or [Dir.Close] without a result. Its methods
// may be called from any goroutine.
type Dir struct {
	// Path is its path.
	Path string

	root  *os.Root
	began time.Time
	mask  *mask.Mask

	mu     sync.Mutex
	log    *os.File
	events *os.File
	half   []byte // a line of the log that has not ended
}

// maker identifies this program in started.json.
const maker = "vsphere-sandbox"

// contents are the top-level files of a run, to recognize a directory with other files.
var contents = []string{"started.json", "finished.json", "build-log.txt", "report.html", "artifacts"}

// Create creates the directory at p, or reuses an empty one or that of an earlier run, which it clears. metadata goes into
// started.json. For any other directory the error wraps [ErrNotOwned], and nothing is changed.
func Create(p string, began time.Time, repos, metadata map[string]string) (*Dir, error) {
	if err := os.MkdirAll(p, 0o700); err != nil {
		return nil, err
	}
	root, err := os.OpenRoot(p)
	if err != nil {
		return nil, err
	}
	d := &Dir{Path: p, root: root, began: began, mask: &mask.Mask{}}
	if err := d.begin(repos, metadata); err != nil {
		return nil, errors.Join(err, d.Close())
	}
	return d, nil
}

func (d *Dir) begin(repos, metadata map[string]string) error {
	if err := d.empty(); err != nil {
		return fmt.Errorf("directory %s: %w", d.Path, err)
	}
	meta := map[string]string{"maker": maker}
	maps.Copy(meta, metadata)
	if err := d.JSON("started.json", started{Timestamp: d.began.Unix(), Repos: repos, Metadata: meta}); err != nil {
		return err
	}
	var err error
	if d.log, err = d.open("build-log.txt"); err != nil {
		return err
	}
	d.events, err = d.open("artifacts/events.jsonl")
	return err
}

// empty removes the files of an earlier run.
func (d *Dir) empty() error {
	entries, err := fs.ReadDir(d.root.FS(), ".")
	if err != nil || len(entries) == 0 {
		return err
	}
	var was started
	b, err := d.root.ReadFile("started.json")
	if err != nil || json.Unmarshal(b, &was) != nil || was.Metadata["maker"] != maker {
		return ErrNotOwned
	}
	for _, e := range entries {
		if !slices.Contains(contents, e.Name()) {
			return fmt.Errorf("%w alone (%s)", ErrNotOwned, e.Name())
		}
	}
	// started.json, which marks the directory, goes last.
	for _, name := range slices.Backward(contents) {
		if err := d.root.RemoveAll(name); err != nil {
			return err
		}
	}
	return nil
}

// Mask makes m remove secrets from all files. Call it first, if at all.
func (d *Dir) Mask(m *mask.Mask) { d.mask = m }

// Write writes a file, by its path in the directory.
func (d *Dir) Write(name string, b []byte) error {
	f, err := d.open(name)
	if err != nil {
		return err
	}
	_, err = f.Write(d.mask.Bytes(b))
	return errors.Join(err, f.Close())
}

// WriteDocument writes a file that was made of data without secrets ([mask.Deep]): of it only what has the shape of a secret is masked,
// for words that are a secret somewhere stand in the markup of every document.
func (d *Dir) WriteDocument(name string, b []byte) error {
	f, err := d.open(name)
	if err != nil {
		return err
	}
	_, err = f.Write((&mask.Mask{}).Bytes(b))
	return errors.Join(err, f.Close())
}

// JSON writes v as a file, without its secrets.
func (d *Dir) JSON(name string, v any) error {
	b, err := json.MarshalIndent(mask.Deep(d.mask, v), "", "  ")
	if err != nil {
		return err
	}
	return d.WriteDocument(name, append(b, '\n'))
}

// keyBegin and keyEnd are the lines around a private key.
var (
	keyBegin = regexp.MustCompile(`-----BEGIN [A-Z0-9 ]*PRIVATE KEY-----`)
	keyEnd   = regexp.MustCompile(`-----END [A-Z0-9 ]*PRIVATE KEY-----`)
)

// Copy writes the content of r to a file, line by line, to mask secrets in files of any size.
func (d *Dir) Copy(name string, r io.Reader) error {
	f, err := d.open(name)
	if err != nil {
		return err
	}
	key := false // in the lines of a private key
	return errors.Join(lines(r, func(b []byte) error {
		was := key
		switch {
		case keyEnd.Match(b):
			key = false
		case keyBegin.Match(b):
			key = true
		}
		if was {
			return nil
		}
		text := d.mask.Bytes(b)
		if bytes.HasSuffix(b, []byte("\n")) && !bytes.HasSuffix(text, []byte("\n")) {
			text = append(text, '\n') // the mask took it for a part of a key whose end is missing
		}
		_, err := f.Write(text)
		return err
	}), f.Close())
}

// Log writes to build-log.txt, by complete lines.
func (d *Dir) Log() io.Writer { return (*logWriter)(d) }

type logWriter Dir

func (w *logWriter) Write(b []byte) (int, error) {
	d := (*Dir)(w)
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.log == nil {
		return 0, fs.ErrClosed
	}
	d.half = append(d.half, b...)
	end := strings.LastIndexByte(string(d.half), '\n') + 1
	if end == 0 {
		return len(b), nil
	}
	_, err := d.log.Write(d.mask.Bytes(d.half[:end]))
	d.half = append(d.half[:0:0], d.half[end:]...)
	return len(b), err
}

// Close closes the directory without a result. It may be called again.
func (d *Dir) Close() error {
	d.mu.Lock()
	defer d.mu.Unlock()
	var errs []error
	if d.log != nil && len(d.half) > 0 {
		_, err := d.log.Write(d.mask.Bytes(d.half))
		errs, d.half = append(errs, err), nil
	}
	for _, f := range []**os.File{&d.log, &d.events} {
		if *f != nil {
			errs = append(errs, (*f).Close())
			*f = nil
		}
	}
	if d.root != nil {
		errs = append(errs, d.root.Close())
		d.root = nil
	}
	return errors.Join(errs...)
}

// open creates or truncates a file, which cannot be outside of the directory.
func (d *Dir) open(name string) (*os.File, error) {
	if dir := path.Dir(name); dir != "." {
		if err := d.root.MkdirAll(dir, 0o700); err != nil {
			return nil, err
		}
	}
	return d.root.OpenFile(name, os.O_CREATE|os.O_WRONLY|os.O_TRUNC, 0o600)
}

// FileName returns a text as a part of a file name: node/worker-1 becomes node-worker-1.
func FileName(text string) string {
	return strings.Trim(strings.Map(func(r rune) rune {
		switch {
		case r >= 'a' && r <= 'z', r >= 'A' && r <= 'Z', r >= '0' && r <= '9', r == '-', r == '_', r == '.':
			return r
		}
		return '-'
	}, report.Line(text)), ".-")
}

// started and finished are the files of TestGrid.
type (
	started struct {
		Timestamp int64             `json:"timestamp"` // seconds
		Repos     map[string]string `json:"repos,omitempty"`
		Metadata  map[string]string `json:"metadata,omitempty"`
	}
	finished struct {
		Timestamp int64             `json:"timestamp"`
		Passed    bool              `json:"passed"`
		Result    string            `json:"result"`
		Version   string            `json:"job-version,omitempty"`
		Metadata  map[string]string `json:"metadata"`
	}
)

// Event appends an event of the nth sandbox to events.jsonl.
func (d *Dir) Event(n int, line api.EventLine) error {
	b, err := json.Marshal(struct {
		Sandbox int `json:"sandbox"`
		event.Event
		Lost uint64 `json:"lost,omitempty"`
	}{n, mask.Deep(d.mask, line.Event), line.Lost})
	if err != nil {
		return err
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.events == nil {
		return fs.ErrClosed
	}
	_, err = d.events.Write((&mask.Mask{}).Bytes(append(b, '\n')))
	return err
}

// Finish writes the results and closes the directory. aborted means that the run was interrupted.
func (d *Dir) Finish(s *result.Suite, aborted bool) error {
	s = mask.Deep(d.mask, s)
	errs := []error{
		d.made("artifacts/result.json", s, document.Write),
		d.made("artifacts/junit_"+FileName(s.Name)+".xml", s, junit.Write),
		d.made("report.html", s, page.Write),
		d.JSON("artifacts/calls.json", calls(s)),
		d.finished(s, aborted),
	}
	return errors.Join(append(errs, d.Close())...)
}

func (d *Dir) finished(s *result.Suite, aborted bool) error {
	f := finished{
		Timestamp: s.Began.Add(s.Took).Unix(), Passed: s.Verdict() == result.Passed && !aborted, Result: "FAILURE", Version: s.Version,
		Metadata: map[string]string{
			"suite": s.Name, "seed": strconv.FormatUint(s.Seed, 10), "speed": strconv.FormatFloat(s.Speed, 'f', -1, 64),
			"ccm": s.CCM, "ccm-version": s.CCMVersion, "kubernetes-version": s.KubernetesVersion, "version": s.Version,
			"scenarios": strconv.Itoa(len(s.Scenarios)),
		},
	}
	switch {
	case aborted:
		f.Result = "ABORTED"
	case f.Passed:
		f.Result = "SUCCESS"
	}
	for _, v := range result.Verdicts() {
		f.Metadata[string(v)] = strconv.Itoa(s.Count(v))
	}
	if s.Baseline != "" {
		f.Metadata["baseline"] = s.Baseline
		for _, t := range result.Trends() {
			f.Metadata[string(t)] = strconv.Itoa(s.CountTrend(t))
		}
	}
	return d.JSON("finished.json", f)
}

func (d *Dir) made(name string, s *result.Suite, write func(io.Writer, *result.Suite) error) error {
	var b bytes.Buffer
	if err := write(&b, s); err != nil {
		return fmt.Errorf("%s: %w", name, err)
	}
	return d.WriteDocument(name, b.Bytes())
}

// calls returns the calls of each scenario, by its name.
func calls(s *result.Suite) map[string][]api.Calls {
	all := map[string][]api.Calls{}
	for i := range s.Scenarios {
		sc := &s.Scenarios[i]
		if len(sc.Calls) > 0 {
			all[sc.Name] = sc.Calls
		}
	}
	return all
}

// lines calls f for each line of r with its line break, and for pieces of 1 MiB of longer lines. f must not keep its argument.
func lines(r io.Reader, f func([]byte) error) error {
	br := bufio.NewReaderSize(r, 1<<20)
	for {
		b, err := br.ReadSlice('\n')
		if errors.Is(err, bufio.ErrBufferFull) {
			err = nil
		}
		if len(b) > 0 {
			if err := f(b); err != nil {
				return err
			}
		}
		if err == io.EOF {
			return nil
		}
		if err != nil {
			return err
		}
	}
}
