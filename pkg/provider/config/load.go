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
	"unicode/utf8"

	"go.yaml.in/yaml/v3"
)

// MaxSize is how many bytes a file may have: far beyond any real one, it keeps a wrong path from filling the memory.
const MaxSize = 1 << 20

// DefaultSecretsDirectory is where upstream's provider finds credentials when nothing says where they are.
const DefaultSecretsDirectory = "/etc/cloud/secrets"

// Option adds to what a configuration is made of.
type Option func(*options)

type options struct {
	environ        []string
	defaultSecrets string
	noFile         bool
}

// WithEnvironment lets environment variables, "NAME=VALUE" each as of [os.Environ], add to the file and come before it.
func WithEnvironment(environ []string) Option {
	return func(o *options) { o.environ = environ }
}

// WithDefaultSecrets names the secrets directory of the vCenters that no credentials are configured for, if it is
// there when the configuration is loaded: [DefaultSecretsDirectory] as upstream.
func WithDefaultSecrets(dir string) Option {
	return func(o *options) { o.defaultSecrets = dir }
}

// LoadFile reads the named file. The error is of type [*Error] when the file could be read.
func LoadFile(name string, opts ...Option) (*Config, error) {
	data, err := readFile(name)
	if err != nil {
		return nil, fmt.Errorf("cloud config: %w", err)
	}
	return Load(name, data, opts...)
}

// readFile reads no more of a file than it takes to see that it is too large.
func readFile(name string) ([]byte, error) {
	f, err := os.Open(name)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	return io.ReadAll(io.LimitReader(f, MaxSize+1))
}

// Load reads data; name stands for it in errors, which are of type [*Error].
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

// LoadEnvironment makes a configuration of environment variables alone, for where there is no file.
func LoadEnvironment(environ []string, opts ...Option) (*Config, error) {
	return Load("", nil, append(slices.Clone(opts), func(o *options) { o.environ, o.noFile = environ, true })...)
}

// Check reads data as [Load] does and returns everything there is to say about it, warnings too, in the order of the
// file. The Config is nil when one of the problems is not a warning.
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

// parse reads data in its form. It returns nil when there is nothing worth checking further.
func parse(name string, data []byte, p *problems) *file {
	at := position{file: name}
	switch {
	case len(data) > MaxSize:
		p.at(at, "", "is longer than the %d MiB a cloud config may have", MaxSize>>20)
		return nil
	case !utf8.Valid(data):
		p.at(at, "", "file is not UTF-8 text")
		return nil
	}
	data = bytes.TrimPrefix(data, []byte("\uFEFF"))
	if looksLikeINI(data) {
		return readINI(name, data, p)
	}
	return readYAML(name, data, p)
}

// header is a section header of INI, alone on its line or with a comment after it.
var header = regexp.MustCompile(`^\[\s*[\pL][\pL\pN-]*(\s*"[^"]*"?)?\s*\]?\s*([;#].*)?$`)

// looksLikeINI reports whether the first line that says anything is a section header, or a comment as only INI has.
// The first line decides alone, so that a mistake further down is told as one of the form that the file is written in.
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

// defaultPeriod is how often files are looked at.
const defaultPeriod = 2 * time.Second

// watch looks at something again and again, and tells when it has changed since it was made.
type watch struct {
	period  time.Duration
	look    func() (fingerprint string, err error)
	changed func(error)

	last    string
	lastErr string
}

func newWatch(period time.Duration, look func() (string, error), changed func(error)) watch {
	if period <= 0 {
		period = defaultPeriod
	}
	w := watch{period: period, look: look, changed: changed}
	_, _ = w.compare() // what later looks are compared with
	return w
}

// run returns when ctx has ended.
func (w *watch) run(ctx context.Context) {
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

// compare looks, and reports whether that is another outcome than the last. One that is well again as it was before an
// error is told too.
func (w *watch) compare() (different bool, err error) {
	now, err := w.look()
	text := ""
	if err != nil {
		text, now = err.Error(), w.last
	}
	different = now != w.last || text != w.lastErr
	w.last, w.lastErr = now, text
	return different, err
}

// File is a configuration file that is followed as it changes. Make one with [NewFile].
type File struct {
	name  string
	opts  []Option
	watch watch
}

// NewFile returns a File that Run looks at once in every period, 2 s when zero, and that is read for the first time
// here. changed is called from Run's goroutine after every change of the content, with the configuration it comes to,
// or with the reason why it comes to none: then the last one stays in force.
func NewFile(name string, period time.Duration, changed func(*Config, error), opts ...Option) *File {
	f := &File{name: name, opts: opts}
	f.watch = newWatch(period, f.fingerprint, func(error) { changed(f.Load()) })
	return f
}

// Load reads the file as it is now.
func (f *File) Load() (*Config, error) { return LoadFile(f.name, f.opts...) }

// Run follows the file until ctx ends. It is to be called once.
func (f *File) Run(ctx context.Context) { f.watch.run(ctx) }

func (f *File) fingerprint() (string, error) {
	data, err := readFile(f.name)
	if err != nil {
		return "", err
	}
	sum := sha256.Sum256(data)
	return hex.EncodeToString(sum[:]), nil
}

// Changes names what differs between two configurations, sorted, in the names of [Config.YAML]: vcenter.west.port,
// labels.zone. A vCenter that came or went is one name. Values, which may be secret, are not told.
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
		// Not the parts of a vCenter that came or went as a whole.
		if parts := strings.SplitN(path, between, 3); len(parts) < 3 || !changed[parts[0]+between+parts[1]] {
			names = append(names, strings.ReplaceAll(path, between, "."))
		}
	}
	slices.Sort(names)
	return names, nil
}

// between the names of a path is what no name contains.
const between = "\x00"

// flat is the normal form, each value by its path. Every vCenter is there too, without a value.
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
				at := shown(n.Content[i].Value)
				if path != "" {
					at = path + between + at
				}
				if path == "vcenter" {
					flat[at] = ""
				}
				walk(n.Content[i+1], at)
			}
		case yaml.SequenceNode:
			for _, item := range n.Content {
				flat[path] += item.Value + between
			}
		default:
			flat[path] = n.Value
		}
	}
	walk(doc.Content[0], "")
	return flat, nil
}
