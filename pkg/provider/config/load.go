package config

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"io"
	"os"
	"regexp"
	"slices"
	"strings"
	"time"

	"go.yaml.in/yaml/v3"

	"github.com/vsphere-sandbox/vsphere-sandbox/internal/strict"
)

// MaxSize is the maximum size of a file in bytes, far more than real ones have, in case the path is wrong.
const MaxSize = 1 << 20

// DefaultSecretsDirectory is where upstream's provider looks for credentials if none are configured.
const DefaultSecretsDirectory = "/etc/cloud/secrets"

// Option configures the loading of a configuration.
type Option func(*options)

type options struct {
	environ        []string
	defaultSecrets string
	noFile         bool
}

// WithEnvironment adds environment variables, "NAME=VALUE" each as from [os.Environ], which override the file.
func WithEnvironment(environ []string) Option {
	return func(o *options) { o.environ = environ }
}

// WithDefaultSecrets sets the secrets directory for vCenters without configured credentials, if the directory exists when the
// configuration is loaded. Upstream uses [DefaultSecretsDirectory].
func WithDefaultSecrets(dir string) Option {
	return func(o *options) { o.defaultSecrets = dir }
}

// LoadFile loads the named file. The error is an [*Error] if the file is readable.
func LoadFile(name string, opts ...Option) (*Config, error) {
	data, err := readFile(name)
	if err != nil {
		return nil, fmt.Errorf("cloud config: %w", err)
	}
	return Load(name, data, opts...)
}

// readFile reads at most one byte more than MaxSize.
func readFile(name string) ([]byte, error) {
	f, err := os.Open(name)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	return io.ReadAll(io.LimitReader(f, MaxSize+1))
}

// Load parses data; name is the file name in errors, which are of type [*Error].
func Load(name string, data []byte, opts ...Option) (*Config, error) {
	cfg, all := Check(name, data, opts...)
	if cfg == nil {
		e := &Error{}
		for _, p := range all {
			if !p.Warning {
				e.Problems = append(e.Problems, p)
			}
		}
		return nil, e
	}
	return cfg, nil
}

// LoadEnvironment returns the configuration from environment variables alone, without a file.
func LoadEnvironment(environ []string, opts ...Option) (*Config, error) {
	return Load("", nil, append(slices.Clone(opts), func(o *options) { o.environ, o.noFile = environ, true })...)
}

// Check parses data as [Load] does and returns all problems, warnings included, in the order of the file. The Config is nil
// if one of them is not a warning.
func Check(name string, data []byte, opts ...Option) (*Config, []Problem) {
	var o options
	for _, opt := range opts {
		opt(&o)
	}
	p := &problems{}
	f := &file{name: environment}
	if !o.noFile {
		f = parse(name, data, p)
	}
	if f == nil {
		return nil, p.sorted()
	}
	f.readEnvironment(o.environ, p)
	cfg := f.resolve(o, p)
	all := p.sorted()
	for _, problem := range all {
		if !problem.Warning {
			return nil, all
		}
		cfg.Warnings = append(cfg.Warnings, problem.String())
	}
	return cfg, all
}

// parse parses data in its format. It returns nil if there is nothing to check further.
func parse(name string, data []byte, p *problems) *file {
	at := position{file: name}
	if len(data) > MaxSize {
		p.at(at, "", "is longer than the %d MiB a cloud config may have", MaxSize>>20)
		return nil
	}
	if what, hint := strict.Encoding(data); what != "" {
		p.at(at, hint, "file %s", what)
		return nil
	}
	data = bytes.TrimPrefix(data, []byte("\uFEFF"))
	if looksLikeINI(data) {
		return readINI(name, data, p)
	}
	return readYAML(name, data, p)
}

// header is an INI section header alone on its line, or with a comment after it.
var header = regexp.MustCompile(`^\[\s*[\pL][\pL\pN-]*(\s*"[^"]*"?)?\s*\]?\s*([;#].*)?$`)

// looksLikeINI reports whether the first significant line is a section header, or a comment that only INI has. The first
// line alone decides, so that errors further down are reported for the file's actual format.
func looksLikeINI(data []byte) bool {
	for line := range bytes.Lines(data) {
		line = bytes.TrimSpace(line)
		switch {
		case len(line) == 0 || line[0] == '#':
		case line[0] == ';':
			return true
		default:
			return header.Match(line)
		}
	}
	return false
}

// defaultPeriod is the default polling period.
const defaultPeriod = 2 * time.Second

// poller polls something, and calls changed when it has changed since newPoller.
type poller struct {
	period  time.Duration
	read    func() (fingerprint string, err error)
	changed func(error)

	last    string
	lastErr string
}

func newPoller(period time.Duration, look func() (string, error), changed func(error)) poller {
	if period <= 0 {
		period = defaultPeriod
	}
	w := poller{period: period, read: look, changed: changed}
	_, _ = w.compare() // the first state
	return w
}

func (w *poller) run(ctx context.Context) {
	t := time.NewTicker(w.period)
	defer t.Stop()
	for {
		if different, err := w.compare(); different && ctx.Err() == nil {
			w.changed(err)
		}
		select {
		case <-t.C:
		case <-ctx.Done():
			return
		}
	}
}

// compare reads the state and reports whether it differs from the last one. A recovery from an error counts as a change,
// even to the state before it.
func (w *poller) compare() (different bool, err error) {
	now, err := w.read()
	text := ""
	if err != nil {
		text, now = err.Error(), w.last
	}
	different = now != w.last || text != w.lastErr
	w.last, w.lastErr = now, text
	return different, err
}

// File is a configuration file that is watched for changes. Create it with [NewFile].
type File struct {
	name  string
	opts  []Option
	watch poller
}

// NewFile reads a file and returns a File that Run reads again every period, 2 s when zero. Run calls changed after every
// change of the content, with the new configuration or the error; after an error, the last configuration stays in force.
func NewFile(name string, period time.Duration, changed func(*Config, error), opts ...Option) *File {
	f := &File{name: name, opts: opts}
	f.watch = newPoller(period, f.fingerprint, func(error) { changed(f.Load()) })
	return f
}

// Load loads the file's current content.
func (f *File) Load() (*Config, error) { return LoadFile(f.name, f.opts...) }

// Run watches the file until ctx ends. It must be called once.
func (f *File) Run(ctx context.Context) { f.watch.run(ctx) }

func (f *File) fingerprint() (string, error) {
	data, err := readFile(f.name)
	if err != nil {
		return "", err
	}
	sum := sha256.Sum256(data)
	return hex.EncodeToString(sum[:]), nil
}

// Changes returns the settings that differ between two configurations, sorted, with the names of [Config.YAML]:
// vcenter.west.port, labels.zone. A vCenter that was added or removed is one name. Values are omitted, as they may be secret.
func Changes(from, to *Config) ([]string, error) {
	a, err := from.flat()
	if err != nil {
		return nil, err
	}
	b, err := to.flat()
	if err != nil {
		return nil, err
	}
	changed := map[string]bool{}
	for path := range a {
		if value, ok := b[path]; !ok || value != a[path] {
			changed[path] = true
		}
	}
	for path := range b {
		if _, ok := a[path]; !ok {
			changed[path] = true
		}
	}
	var names []string
	for path := range changed {
		// Without the settings of a vCenter that was added or removed.
		if parts := strings.SplitN(path, pathSeparator, 3); len(parts) < 3 || !changed[parts[0]+pathSeparator+parts[1]] {
			names = append(names, strings.ReplaceAll(path, pathSeparator, "."))
		}
	}
	slices.Sort(names)
	return names, nil
}

// pathSeparator separates the names of a path; no name contains it.
const pathSeparator = "\x00"

// flat returns the values of the normal form by path, and every vCenter without a value.
func (c *Config) flat() (map[string]string, error) {
	text, err := c.YAML()
	if err != nil {
		return nil, err
	}
	var doc yaml.Node
	if err := yaml.Unmarshal(text, &doc); err != nil {
		return nil, err
	}
	flat := map[string]string{}
	var walk func(n *yaml.Node, path string)
	walk = func(n *yaml.Node, path string) {
		switch n.Kind {
		case yaml.MappingNode:
			for i := 0; i+1 < len(n.Content); i += 2 {
				at := quoteKey(n.Content[i].Value)
				if path != "" {
					at = path + pathSeparator + at
				}
				if path == "vcenter" {
					flat[at] = ""
				}
				walk(n.Content[i+1], at)
			}
		case yaml.SequenceNode:
			for _, item := range n.Content {
				flat[path] += item.Value + pathSeparator
			}
		default:
			flat[path] = n.Value
		}
	}
	walk(doc.Content[0], "")
	return flat, nil
}
