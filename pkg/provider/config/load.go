package config

import (
	"bytes"
	"fmt"
	"io"
	"os"
	"regexp"
	"slices"
	"unicode/utf8"
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
