package store

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
)

// writer writes a folder beside its destination, and moves it there when it is complete.
type writer struct {
	dir     string // the destination
	temp    string
	replace bool
	sums    map[string]string
	buffer  bytes.Buffer
}

func newWriter(dir string, replace bool) (*writer, error) {
	dir = filepath.Clean(dir)
	if err := vacant(dir, replace); err != nil {
		return nil, err
	}
	temp, err := os.MkdirTemp(filepath.Dir(dir), "."+filepath.Base(dir)+"-")
	if err != nil {
		return nil, err
	}
	return &writer{dir: dir, temp: temp, replace: replace, sums: make(map[string]string)}, nil
}

// The errors of [Save] about its folder.
var (
	ErrExists  = errors.New("exists and is not empty")
	ErrForeign = errors.New("is not a saved inventory, and is not replaced")
)

// vacant returns an error if the folder must not be created.
func vacant(dir string, replace bool) error {
	entries, err := os.ReadDir(dir)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return nil
	case err != nil:
		return err
	case len(entries) == 0:
		return nil
	case !replace:
		return fmt.Errorf("%s %w", dir, ErrExists)
	}
	for _, e := range entries {
		if e.Name() == manifestName || filepath.Ext(e.Name()) == objectExt {
			return nil
		}
	}
	return fmt.Errorf("%s %w", dir, ErrForeign)
}

// xml writes a value as govc does.
func (w *writer) xml(name string, v any) error {
	w.buffer.Reset()
	if err := encode(&w.buffer, v); err != nil {
		return fmt.Errorf("%s: %w", name, err)
	}
	return w.write(name, w.buffer.Bytes())
}

func (w *writer) json(name string, v any) error {
	b, err := json.MarshalIndent(v, "", "  ")
	if err != nil {
		return fmt.Errorf("%s: %w", name, err)
	}
	return w.write(name, append(b, '\n'))
}

func (w *writer) write(name string, data []byte) error {
	path := filepath.Join(w.temp, filepath.FromSlash(name))
	if filepath.Dir(path) != w.temp {
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			return err
		}
	}
	sum := sha256.Sum256(data)
	w.sums[name] = hex.EncodeToString(sum[:])
	return os.WriteFile(path, data, 0o644)
}

// commit writes the manifest and moves the folder to its destination.
func (w *writer) commit(m manifest) error {
	m.Files = w.sums
	if err := w.json(manifestName, m); err != nil {
		return err
	}
	if err := os.Chmod(w.temp, 0o755); err != nil {
		return err
	}
	if err := vacant(w.dir, w.replace); err != nil { // it may have been created since
		return err
	}
	old := w.temp + "-old"
	if err := os.Rename(w.dir, old); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	if err := os.Rename(w.temp, w.dir); err != nil {
		return errors.Join(err, putBack(old, w.dir))
	}
	return os.RemoveAll(old)
}

func putBack(old, dir string) error {
	if err := os.Rename(old, dir); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	return nil
}

func (w *writer) discard() error { return os.RemoveAll(w.temp) }
