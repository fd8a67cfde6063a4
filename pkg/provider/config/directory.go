package config

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"
)

// ReadSecretsDirectory reads a directory that has a file for each key of a Secret, as a kubelet mounts one. The error
// is one of the directory; a file that cannot be read is among the Secret's problems.
func ReadSecretsDirectory(dir string) (*Secret, error) {
	data, broken, err := readSecretFiles(dir)
	if err != nil {
		return nil, fmt.Errorf("secrets directory: %w", err)
	}
	s := ParseSecret(dir, data)
	s.problems = append(broken, s.problems...)
	return s, nil
}

// readSecretFiles returns the content of the files by their names.
func readSecretFiles(dir string) (data map[string][]byte, broken []Problem, err error) {
	// A kubelet keeps the files in a directory of their own, which it replaces as a whole: reading that one, a user name
	// of before and a password of after are never taken together.
	from := dir
	if whole, err := filepath.EvalSymlinks(filepath.Join(dir, "..data")); err == nil {
		from = whole
	}
	entries, err := os.ReadDir(from)
	if err != nil {
		return nil, nil, err
	}
	data = map[string][]byte{}
	for _, e := range entries {
		path := filepath.Join(from, e.Name())
		info, err := os.Stat(path)
		switch {
		case strings.HasPrefix(e.Name(), ".."):
			continue
		case err == nil && !info.Mode().IsRegular():
			continue // a directory, or a pipe that would never end
		case err == nil && info.Size() > MaxSize:
			err = fmt.Errorf("file is larger than %d bytes", MaxSize)
		case err == nil:
			data[e.Name()], err = os.ReadFile(path)
		}
		if err != nil {
			broken = append(broken, Problem{File: dir, Path: e.Name(), Message: err.Error(), Warning: true})
		}
	}
	return data, broken, nil
}

// Directory is a secrets directory that is followed as it changes. Make one with [NewDirectory]. All methods may be
// called from any goroutine.
type Directory struct {
	path  string
	watch watch
}

// NewDirectory returns a Directory that Run looks at once in every period, 2 s when zero, and that reads it for the
// first time here. changed is called from Run's goroutine after every change of the content, with nil, and with the
// reason when the directory can be read no more.
//
// It looks again and again, and is not notified: on the file systems that Secrets are mounted from notifications depend
// on how the kubelet swaps directories, and a handful of small files is read in microseconds.
func NewDirectory(path string, period time.Duration, changed func(error)) *Directory {
	d := &Directory{path: path}
	d.watch = newWatch(period, d.fingerprint, changed)
	return d
}

// Run follows the directory until ctx ends. It is to be called once.
func (d *Directory) Run(ctx context.Context) { d.watch.run(ctx) }

// Credentials returns what the directory says of a server at this moment, whether Run runs or not.
func (d *Directory) Credentials(server string) (Credentials, error) {
	s, err := ReadSecretsDirectory(d.path)
	if err != nil {
		return Credentials{}, err
	}
	c, err := s.For(server)
	if err != nil {
		return c, fmt.Errorf("secrets directory %s: %w", d.path, err)
	}
	return c, nil
}

// fingerprint differs when the content does.
func (d *Directory) fingerprint() (string, error) {
	data, broken, err := readSecretFiles(d.path)
	if err != nil {
		return "", fmt.Errorf("secrets directory: %w", err)
	}
	h := sha256.New()
	for _, key := range slices.Sorted(maps.Keys(data)) {
		fmt.Fprintf(h, "%q %q\n", key, data[key])
	}
	for _, p := range broken {
		fmt.Fprintln(h, p)
	}
	return hex.EncodeToString(h.Sum(nil)), nil
}
